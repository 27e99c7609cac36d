// Schemas and prompts in PML: checked, loaded, explained and run.

import {events, get, post, remove} from "./api.js";
import {answerFacts, ask, AnswerText} from "./answer.js";
import {compare} from "./compare.js";
import {el, onCtrlEnter, table} from "./dom.js";
import {Editor} from "./editor.js";
import {bytes, count, counted} from "./format.js";
import {PositionMap} from "./position_map.js";
import {Running} from "./running.js";
import {kPrompt, kSchema} from "./samples.js";

const kMostTokens = 128;  // of an answer

// What is wrong with a document, at its place.
function showError(error, editor, outcome) {
  const words = el("span", {class: "error"}, error.message);
  if (!error.line) return outcome.replaceChildren(words);
  editor.mark(error.line, error.column, error.message);
  const place = error.column ? `Line ${error.line}, column ${error.column}` : `Line ${error.line}`;
  const link = el("button", {type: "button", class: "link", onclick: () => editor.go()}, place);
  outcome.replaceChildren(link, ": ", words);
}

function modulesTable(description) {
  const columns = [["Module"], ["Tokens", "number"], ["Position", "number"], ["Bytes", "number"],
                   ["Parameters"]];
  const rows = description.modules.map((m) => [
    m.path || "(the schema's own text)", count(m.tokens), count(m.position), m.bytes ? bytes(m.bytes) : "",
    (m.parameters ?? []).map((p) => `${p.name} (${p.len})`).join(", "),
  ]);
  return table(`Modules of ${description.name}`, columns, rows);
}

// A form with an editor, whose work shows errors in it.
class Document {
  constructor(form, text) {
    this.form = form;
    this.outcome = form.querySelector(".outcome");
    this.editor = new Editor(form.querySelector(".editor"), text);
  }

  async attempt(work) {
    this.editor.clear();
    this.outcome.replaceChildren();
    try {
      await work();
    } catch (error) {
      showError(error, this.editor, this.outcome);
    }
  }

  onSubmit(act) {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      act();
    });
    onCtrlEnter(this.form, act);
  }
}

class SchemaView {
  constructor(panel) {
    this.notice = panel.querySelector(".notice");
    this.loaded = panel.querySelector(".loaded");
    const [schema, prompt] = panel.querySelectorAll("form");
    this.schema = new Document(schema, kSchema);
    this.prompt = new Document(prompt, kPrompt);
    this.description = schema.querySelector(".description");
    this.map = new PositionMap(prompt.querySelector(".map"));
    this.answer = prompt.querySelector(".answer");
    this.running = new Running(panel);
    this.#listen(schema.elements, prompt.elements);
  }

  #listen(schema, prompt) {
    this.schema.onSubmit(() => this.check());
    this.prompt.onSubmit(() => this.run());
    schema.encode.addEventListener("click", () => this.encode());
    prompt.explain.addEventListener("click", () => this.explain());
    prompt.compare.addEventListener("click", () => this.compare());
    document.addEventListener("modelchosen", () => this.refresh());
  }

  async refresh() {
    try {
      this.#list((await get("pml/schemas")).data);
      this.notice.hidden = true;
    } catch (error) {
      this.notice.textContent = error.status === 404
        ? "This server has no routes for PML: it answers conversations and text alone." : error.message;
      this.notice.hidden = false;
    }
  }

  #list(schemas) {
    const drop = async (name) => {
      await remove(`pml/schemas/${encodeURIComponent(name)}`).catch(() => {});  // it may have gone
      this.refresh();
    };
    const items = schemas.map(({name}) => el("li", {}, el("code", {}, name),
      el("button", {type: "button", "aria-label": `Unload ${name}`, onclick: () => drop(name)}, "Unload")));
    this.loaded.replaceChildren(...(items.length ? items : [el("li", {class: "hint"}, "None.")]));
  }

  #describe({name, description}) {
    const n = counted(description.modules.length, "module");
    this.schema.outcome.replaceChildren(el("span", {class: "good"},
      `${name}: ${n}, ${counted(description.tokens, "token")}, ${bytes(description.bytes)} when encoded.`));
    const remarks = (description.remarks ?? []).map((remark) => el("p", {class: "remark"}, remark));
    this.description.replaceChildren(...remarks, modulesTable(description));
    this.refresh();
  }

  check() {
    return this.schema.attempt(async () =>
      this.#describe(await post("pml/schemas", {schema: this.schema.editor.text, encode: false})));
  }

  encode() {
    return this.schema.attempt(async () => {
      const body = {schema: this.schema.editor.text, encode: true, stream: true};
      for await (const {name, data} of events("pml/schemas", body)) {
        if (name === "schema") this.#describe(data);
        else this.schema.outcome.textContent = `${count(data.done)} of ${count(data.total)}: ${data.module ?? ""}`;
      }
    });
  }

  explain() {
    return this.prompt.attempt(async () =>
      this.map.show(await post("pml/explain", {prompt: this.prompt.editor.text})));
  }

  async #work(work) {
    if (this.running.isBusy) return;
    await this.prompt.attempt(() => this.running.run(work));
  }

  run() {
    return this.#work(async (signal) => {
      const body = {prompt: this.prompt.editor.text, max_tokens: kMostTokens, temperature: 0};
      this.map.show(await post("pml/explain", {prompt: body.prompt}, signal));
      const text = new AnswerText();
      this.answer.replaceChildren(text.box);
      const answer = {text: "", finish: null};
      await ask(answer, "pml/run", body, signal, text);
      this.answer.append(answerFacts(answer));
    });
  }

  compare() {
    return this.#work((signal) =>
      compare(this.answer, "pml/run", {prompt: this.prompt.editor.text, max_tokens: kMostTokens}, signal));
  }
}

export function startSchema(panel) {
  const view = new SchemaView(panel);
  return {shown: () => view.refresh()};
}
