// One question, answered with and without reuse, side by side: what it took, and whether the
// answers are the same.

import {post} from "./api.js";
import {answerFacts, ask, AnswerText, firstTokenMs} from "./answer.js";
import {el, onCtrlEnter} from "./dom.js";
import {counted, milliseconds, times} from "./format.js";
import {Running} from "./running.js";
import {kQuestion, kSystem} from "./samples.js";

function columnOf(title) {
  const text = new AnswerText();
  const column = el("section", {class: "card", "aria-live": "polite", "aria-busy": "true"}, el("h3", {}, title),
    text.box);
  return {column, text};
}

function firstDifference(a, b) {
  const others = [...b], at = [...a].findIndex((c, i) => c !== others[i]);
  return at < 0 ? [...a].length : at;
}

function speedOf(reused, computed) {
  const ratio = firstTokenMs(computed) / firstTokenMs(reused);
  if (!(ratio > 0 && Number.isFinite(ratio))) return "";
  return ratio > 1 ? ` Reuse made the first token ${times(ratio)} times as fast.`
    : " The first token came no sooner with reuse.";
}

function verdictOf(reused, computed) {
  const isEqual = reused.text === computed.text;
  const words = isEqual ? "Both answers are equal."
    : `The answers differ from character ${firstDifference(reused.text, computed.text) + 1} on.`;
  return el("p", {class: isEqual ? "verdict good" : "verdict", role: "status"}, words + speedOf(reused, computed));
}

// Two requests to a route that answers as /v1/chat/completions does, shown in box.
export async function compare(box, path, body, signal) {
  try {
    await answerTwice(box, path, body, signal);
  } catch (error) {
    if (error.name !== "AbortError") box.replaceChildren();
    throw error;
  }
}

async function answerTwice(box, path, body, signal) {
  const sides = [["With reuse", body], ["Without reuse", {...body, prompt_cache: {mode: "off"}}]];
  const columns = sides.map(([title]) => columnOf(title));
  const verdict = el("div");
  box.replaceChildren(verdict, el("div", {class: "pair"}, ...columns.map((c) => c.column)));
  const answers = [];
  for (const [i, [, request]] of sides.entries()) {
    const {column, text} = columns[i];
    const answer = {text: "", finish: null};
    await ask(answer, path, {...request, temperature: 0}, signal, text);
    column.append(answerFacts(answer));
    column.removeAttribute("aria-busy");
    answers.push(answer);
  }
  verdict.replaceChildren(verdictOf(...answers));
}

class Compare {
  constructor(panel) {
    this.form = panel.querySelector("form");
    this.box = panel.querySelector(".comparison");
    this.running = new Running(panel);
    this.#fillIn();
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.start();
    });
    onCtrlEnter(this.form, () => this.start());
  }

  // What the browser has kept of an earlier visit stays.
  #fillIn() {
    const {system, question} = this.form.elements;
    if (system.value || question.value) return;
    system.value = kSystem;
    question.value = kQuestion;
  }

  #body() {
    const {system, question, max_tokens} = this.form.elements;
    const messages = [{role: "user", content: question.value}];
    if (system.value.trim()) messages.unshift({role: "system", content: system.value});
    return {messages, max_tokens: Number(max_tokens.value)};
  }

  async start() {
    if (this.running.isBusy || !this.form.elements.question.value.trim()) return;
    try {
      await this.running.run((signal) => this.#run(this.#body(), signal));
    } catch (error) {
      this.box.replaceChildren(el("p", {class: "error", role: "alert"}, error.message));
    }
  }

  async #run(body, signal) {
    let note;
    if (this.form.elements.prewarm.checked) {
      this.box.replaceChildren(el("p", {class: "hint"}, "computing the prompt ahead …"));
      const begin = performance.now();
      const {usage} = await post("v1/prompt_cache/prewarm", body, signal);
      note = `Computed ahead in ${milliseconds(performance.now() - begin)}: the store was given ` +
        `${counted(usage.prompt_tokens_details.cache_write_tokens, "token")}.`;
    }
    await compare(this.box, "v1/chat/completions", body, signal);
    if (note) this.box.append(el("p", {class: "hint"}, note));
  }
}

export function startCompare(panel) {
  new Compare(panel);
  return {};
}
