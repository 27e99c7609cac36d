// A conversation, and beside it the map of the prompt that the next question would be.

import {post} from "./api.js";
import {answerFacts, ask, AnswerText} from "./answer.js";
import {el, onEnter} from "./dom.js";
import {PositionMap} from "./position_map.js";
import {Running, whenQuiet} from "./running.js";

const kNumbers = ["max_tokens", "temperature", "repeat_penalty"];  // settings, by their names in a request

class Chat {
  #messages = [];  // {role, content}, without the system's

  constructor(panel) {
    this.panel = panel;
    this.log = panel.querySelector(".log");
    this.form = panel.querySelector(".ask");
    this.settings = panel.querySelector(".settings");
    this.question = this.form.elements.question;
    this.map = new PositionMap(panel.querySelector(".map"));
    this.running = new Running(panel);
    this.#listen();
    this.#followGrowth();
    this.#empty();
  }

  #listen() {
    const explainSoon = whenQuiet(() => this.explain());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.settings.addEventListener("submit", (event) => event.preventDefault());
    this.form.elements.clear.addEventListener("click", () => this.clear());
    for (const form of [this.form, this.settings]) form.addEventListener("input", explainSoon);
    onEnter(this.question, () => this.send());
    document.addEventListener("modelchosen", () => this.explain());
  }

  #empty() {
    this.log.replaceChildren(el("p", {class: "hint"},
      "What the model computes of a conversation stays in the store: the next question computes its own words alone."));
  }

  // The request that asks this after all that was said.
  #body(question) {
    const {system, mode} = this.settings.elements;
    const messages = [...this.#messages, {role: "user", content: question}];
    if (system.value.trim()) messages.unshift({role: "system", content: system.value});
    const sampling = kNumbers.map((name) => [name, Number(this.settings.elements[name].value)]);
    return {messages, ...Object.fromEntries(sampling), prompt_cache: {mode: mode.value}};
  }

  async explain() {
    this.explaining?.abort();
    const {signal} = this.explaining = new AbortController();
    if (this.settings.elements.mode.value === "off") return this.map.say("Without reuse all is computed.");
    try {
      this.map.show(await post("v1/prompt_cache/explain", this.#body(this.question.value), signal));
    } catch (error) {
      if (error.name !== "AbortError") this.map.say(error.message);
    }
  }

  async send() {
    const question = this.question.value;
    if (this.running.isBusy || !question.trim()) return;
    if (this.#messages.length === 0) this.log.replaceChildren();
    const asked = this.#say("You", el("p", {class: "text"}, question), "user");
    const text = new AnswerText(), said = this.#say("Model", text.box, "assistant");
    this.question.value = "";
    try {
      await this.#answer(question, said, text);
    } catch (error) {
      asked.remove();
      said.replaceWith(el("p", {class: "error", role: "alert"}, error.message));
      this.question.value ||= question;
    }
    this.explain();
  }

  async #answer(question, said, shown) {
    const body = this.#body(question);
    const answer = {text: "", finish: null};
    said.setAttribute("aria-busy", "true");  // it is read out when it is whole
    await this.running.run((signal) => ask(answer, "v1/chat/completions", body, signal, shown));
    said.removeAttribute("aria-busy");
    said.append(answerFacts(answer));
    this.#messages.push({role: "user", content: question}, {role: "assistant", content: answer.text});
    this.#follow();
  }

  #say(title, text, role) {
    const article = el("article", {class: role}, el("h3", {}, title), text);
    this.log.append(article);
    this.#follow();
    return article;
  }

  #follow() {
    this.log.scrollTop = this.log.scrollHeight;
    this.isAtEnd = true;
  }

  // While an answer grows its end is seen, unless the reader has gone elsewhere.
  #followGrowth() {
    this.log.addEventListener("scroll", () => {
      this.isAtEnd = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 40;
    });
    const grown = () => { if (this.isAtEnd) this.#follow(); };
    new MutationObserver(grown).observe(this.log, {subtree: true, childList: true, characterData: true});
  }

  clear() {
    this.running.stop();
    this.#messages = [];
    this.#empty();
    this.explain();
    this.question.focus();
  }
}

export function startChat(panel) {
  const chat = new Chat(panel);
  return {shown: () => chat.explain()};
}
