// What the store has, against its budget.

import {get, modelName} from "./api.js";
import {el, facts, table} from "./dom.js";
import {ago, bytes, count, counted, percent} from "./format.js";
import {fileOf, learnSchema, modelNames} from "./known.js";

const kDigits = 12;  // of a key; as the command shows them

function budgetMeter(store) {
  const bar = el("div", {class: "meter tall", role: "img",
    "aria-label": `${percent(store.total_bytes, store.budget_bytes)} of the budget used`}, el("i"));
  bar.firstChild.style.width = `${Math.min(100, (100 * store.total_bytes) / store.budget_bytes)}%`;
  return bar;
}

// What a file is, as far as this page knows: words, and the module that has them.
function whatOf(file) {
  if (file.why) return el("span", {class: "error"}, file.why);
  const {words, module} = fileOf(file.key);
  if (!words && !module) return el("span", {class: "hint"}, "not of what this page has asked");
  return el("span", {}, module ? el("strong", {}, module) : "", module && words ? ": " : "", words ?? "");
}

function filesTable(store) {
  const columns = [["What", "words"], ["Schema"], ["Model"], ["Size", "number"], ["Tokens", "number"], ["Last use"],
                   ["Type"], ["Pinned"], ["Key"]];
  const models = modelNames(store.files);
  const modelOf = (file) => models.get(file.model) ?? el("code", {}, (file.model ?? "").slice(0, kDigits));
  const rows = store.files.map((file) => [
    whatOf(file), fileOf(file.key).schema ?? "", el("span", {title: file.model}, modelOf(file)), bytes(file.bytes),
    file.tokens === undefined ? "" : count(file.tokens), ago(file.last_used_ms), file.kv_type ?? "",
    file.pinned ? "yes" : "", el("code", {title: file.key}, file.key.slice(0, kDigits)),
  ]);
  const shown = store.files.length < store.n_files ? `, the newest ${count(store.files.length)}` : "";
  return table(`Files${shown}`, columns, rows);
}

// The schemas that are loaded, whose modules the store may have. A server may have no routes for them.
async function learnSchemas() {
  const {data} = await get("pml/schemas").catch(() => ({data: []}));
  const schemas = data.map(({name}) => get(`pml/schemas/${encodeURIComponent(name)}`).catch(() => null));
  for (const schema of await Promise.all(schemas)) if (schema) learnSchema(schema, modelName());
}

function contentOf(store) {
  if (!store.in_use) return [el("p", {class: "hint"}, "This server runs without a store: nothing is kept.")];
  return [
    el("section", {class: "card"},
      facts([
        ["Used", `${bytes(store.total_bytes)} of ${bytes(store.budget_bytes)}`],
        ["Files", count(store.n_files)],
        ["Tokens listed", count(store.files.reduce((sum, file) => sum + (file.tokens ?? 0), 0))],
        ["Mode", store.mode],
      ]),
      budgetMeter(store),
      el("p", {class: "hint"}, el("code", {}, store.directory), ` holds ${counted(store.n_files, "file")}. `,
        "Beyond its budget those go first that were not used for longest.")),
    filesTable(store),
  ];
}

export function startStore(panel) {
  const content = panel.querySelector(".content");
  async function refresh() {
    try {
      const [store] = await Promise.all([get("v1/prompt_cache/store"), learnSchemas()]);
      content.replaceChildren(...contentOf(store));
    } catch (error) {
      content.replaceChildren(el("p", {class: "error"}, error.message));
    }
  }
  panel.querySelector("[name=refresh]").addEventListener("click", refresh);
  return {shown: refresh};
}
