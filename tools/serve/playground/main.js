// The page: which model answers here, and the views.

import {get, setKey} from "./api.js";
import {startChat} from "./chat.js";
import {startCompare} from "./compare.js";
import {startMetrics} from "./metrics.js";
import {startSchema} from "./schema.js";
import {startStore} from "./store.js";
import {startTabs} from "./tabs.js";
import {count} from "./format.js";

async function showModel(line) {
  try {
    const model = (await get("v1/models")).data[0];
    line.textContent = `${model.id}, ${count(model.max_model_len)} tokens`;
  } catch (error) {
    line.textContent = error.message;
  }
}

// Shown once the server asks for a key.
function startKey(field, input) {
  document.addEventListener("keyneeded", () => { field.hidden = false; });
  input.addEventListener("change", () => {
    setKey(input.value);
    showModel(document.getElementById("model"));
  });
}

startKey(document.getElementById("key-field"), document.getElementById("key"));
showModel(document.getElementById("model"));
startTabs({
  chat: startChat(document.getElementById("chat")),
  compare: startCompare(document.getElementById("compare")),
  schema: startSchema(document.getElementById("schema")),
  store: startStore(document.getElementById("store")),
  metrics: startMetrics(document.getElementById("metrics")),
});
