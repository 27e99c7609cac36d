// What the store has, against its budget.

import {get} from "./api.js";
import {el, facts, table} from "./dom.js";
import {ago, bytes, count, counted, percent} from "./format.js";

const kDigits = 12;  // of a key; as the command shows them

function budgetMeter(store) {
  const bar = el("div", {class: "meter tall", role: "img",
    "aria-label": `${percent(store.total_bytes, store.budget_bytes)} of the budget used`}, el("i"));
  bar.firstChild.style.width = `${Math.min(100, (100 * store.total_bytes) / store.budget_bytes)}%`;
  return bar;
}

function filesTable(store) {
  const columns = [["Key"], ["Tokens", "number"], ["Bytes", "number"], ["Type"], ["Model"], ["Last use"], ["Pinned"]];
  const rows = store.files.map((file) => [
    el("code", {title: file.key}, file.key.slice(0, kDigits)), file.why ?? count(file.tokens), bytes(file.bytes),
    file.kv_type ?? "", el("code", {title: file.model}, (file.model ?? "").slice(0, kDigits)),
    ago(file.last_used_ms), file.pinned ? "yes" : "",
  ]);
  const shown = store.files.length < store.n_files ? `, the newest ${count(store.files.length)}` : "";
  return table(`Files${shown}`, columns, rows);
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
      content.replaceChildren(...contentOf(await get("v1/prompt_cache/store")));
    } catch (error) {
      content.replaceChildren(el("p", {class: "error"}, error.message));
    }
  }
  panel.querySelector("[name=refresh]").addEventListener("click", refresh);
  return {shown: refresh};
}
