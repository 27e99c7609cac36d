// The page: which model answers here, and the views.

import {get, setFirstModel, setKey, setModel} from "./api.js";
import {startChat} from "./chat.js";
import {startCompare} from "./compare.js";
import {startMetrics} from "./metrics.js";
import {startSchema} from "./schema.js";
import {startStore} from "./store.js";
import {startTabs} from "./tabs.js";
import {count} from "./format.js";

function describe(model) {
  return model.loaded ? `${model.id}, ${count(model.max_model_len)} tokens` : `${model.id}, loaded when it is asked`;
}

// Where several answer, the reader chooses.
async function showModels(line, field, choice) {
  try {
    const models = (await get("v1/models")).data;
    setFirstModel(models[0].id);
    const chosen = choice.value || models[0].id;
    field.hidden = models.length < 2;
    choice.replaceChildren(...models.map(({id}) => new Option(id, id, false, id === chosen)));
    line.textContent = describe(models.find(({id}) => id === chosen));
  } catch (error) {
    line.textContent = error.message;
  }
}

function startModels() {
  const choice = document.getElementById("model-choice");
  const show = () => showModels(document.getElementById("model"), document.getElementById("model-field"), choice);
  choice.addEventListener("change", () => {
    setModel(choice.value);
    document.dispatchEvent(new Event("modelchosen"));
    show();
  });
  show();
  return show;
}

// Shown once the server asks for a key.
function startKey(field, input, showModels) {
  document.addEventListener("keyneeded", () => { field.hidden = false; });
  input.addEventListener("change", () => {
    setKey(input.value);
    showModels();
  });
}

startKey(document.getElementById("key-field"), document.getElementById("key"), startModels());
startTabs({
  chat: startChat(document.getElementById("chat")),
  compare: startCompare(document.getElementById("compare")),
  schema: startSchema(document.getElementById("schema")),
  store: startStore(document.getElementById("store")),
  metrics: startMetrics(document.getElementById("metrics")),
});
