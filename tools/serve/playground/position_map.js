// The picture of a prompt: its segments in the order of their positions, each a button, so that
// keys and pointers come to the same words about it. Filled is reused, hollow is computed now;
// hatched is approximate; the colour is the source. A table says it all again.

import {modelName} from "./api.js";
import {el, facts, table} from "./dom.js";
import {bytes, count, counted, percent} from "./format.js";
import {learnPrompt} from "./known.js";
import {kSources, segmentsOf} from "./segments.js";

const kComputed = ["text", "role"];  // sources that are never reused: what is, is of a conversation
const kMostText = 200;  // characters of a segment's text that are shown

let nMaps = 0;

const placeOf = (s) => (s.end - s.begin === 1 ? count(s.begin) : `${count(s.begin)} to ${count(s.end - 1)}`);

function beginningOf(text) {
  return text.length > kMostText ? `${text.slice(0, kMostText)} …` : text;
}

function factsOf(s) {
  const exactness = s.exact ? "exact" : "approximate: it saw other text before itself";
  const pairs = [["Position", placeOf(s)], ["Tokens", count(s.end - s.begin)]];
  if (s.source === "gap") return pairs;
  pairs.push(["Source", kSources[s.source]], ["State", s.state]);
  if (s.why) pairs.push(["Why", s.why]);
  if (s.repair) pairs.push(["Repair", s.repair]);
  pairs.push(["Exactness", exactness]);
  if (s.bytes) pairs.push(["Bytes", bytes(s.bytes)]);
  return pairs;
}

function tipOf(s) {
  const tip = [el("strong", {}, s.title), facts(factsOf(s))];
  if (s.text) tip.push(el("p", {class: "tip-text"}, beginningOf(s.text)));
  return tip;
}

function labelOf(s) {
  const state = s.reused ? "reused" : s.state ?? "empty";
  return `${s.title}, ${counted(s.end - s.begin, "token")} at ${placeOf(s)}, ${state}`;
}

function buttonOf(s, isFirst) {
  const button = el("button", {
    type: "button", class: "segment", tabindex: isFirst ? "0" : "-1", "data-source": s.source,
    "data-reused": s.reused, "data-approximate": !s.exact, "aria-label": labelOf(s),
  }, el("span", {"aria-hidden": "true"}, s.source === "module" ? s.title : beginningOf(s.text ?? "")));
  button.style.flexGrow = s.source === "gap" ? 0 : s.end - s.begin;
  return button;
}

function legendOf(segments) {
  const item = (attributes, text) => el("li", {}, el("i", {class: "segment", ...attributes}), text);
  const pairs = Object.keys(kSources).flatMap((source) => [true, false].map((reused) => [source, reused]));
  const used = pairs.filter(([source, reused]) => segments.some((s) => s.source === source && Boolean(s.reused) === reused));
  const items = used.map(([source, reused]) => item({"data-source": source, "data-reused": reused},
    kComputed.includes(source) ? kSources[source] : `${kSources[source]}, ${reused ? "reused" : "computed now"}`));
  items.push(item({"data-reused": true}, "filled: reused"), item({}, "hollow: computed now"));
  if (segments.some((s) => !s.exact)) items.push(item({"data-approximate": true}, "hatched: approximate"));
  if (segments.some((s) => s.source === "gap")) items.push(item({"data-source": "gap"}, "dashed: positions without tokens"));
  return el("ul", {class: "legend"}, ...items);
}

function tableOf(segments) {
  const columns = [["Position"], ["Tokens", "number"], ["What"], ["Source"], ["State"], ["Exact"], ["Bytes", "number"]];
  const rows = segments.filter((s) => s.source !== "gap").map((s) => [
    placeOf(s), count(s.end - s.begin), s.title, kSources[s.source],
    s.why ? `${s.state} (${s.why})` : s.state, s.exact ? "yes" : "no", s.bytes ? bytes(s.bytes) : "",
  ]);
  return el("details", {}, el("summary", {}, "As a table"), table("Segments of the prompt", columns, rows));
}

function summaryOf(explained) {
  const {prompt_tokens: all, cached_tokens: cached} = explained;
  return el("p", {class: "summary"}, el("strong", {}, percent(cached, all)),
    ` from modules and kept conversations: ${count(cached)} of ${counted(all, "token")}; `,
    `${count(explained.computed_tokens)} to compute. The answer begins at position ${count(explained.end)} `,
    `of ${count(explained.context_tokens)}.`);
}

export class PositionMap {
  #box;
  #tip = el("div", {class: "tip", role: "tooltip", hidden: true});
  #segments = [];

  constructor(box) {
    this.#box = box;
    this.#tip.id = `tip-${++nMaps}`;
  }

  // explained: of /v1/prompt_cache/explain.
  show(explained) {
    learnPrompt(explained, modelName());
    this.#segments = segmentsOf(explained);
    const bar = el("div", {class: "bar", role: "group", "aria-label": "Segments of the prompt; arrow keys go along"},
      ...this.#segments.map((s, i) => buttonOf(s, i === 0)));
    this.#listen(bar);
    this.#tip.hidden = true;
    const remarks = (explained.remarks ?? []).map((remark) => el("p", {class: "remark"}, remark));
    this.#box.replaceChildren(summaryOf(explained), bar, legendOf(this.#segments),
      el("div", {class: "tip-box"}, this.#tip), ...remarks, tableOf(this.#segments));
  }

  // Why there is no picture.
  say(sentence) {
    this.#box.replaceChildren(el("p", {class: "hint"}, sentence));
  }

  #listen(bar) {
    const buttons = [...bar.children];
    buttons.forEach((button, i) => {
      for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => this.#open(button, i));
      for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => this.#close(button));
      button.addEventListener("keydown", (event) => this.#key(event, buttons, i));
    });
  }

  #key(event, buttons, i) {
    const last = buttons.length - 1;
    const to = {ArrowRight: Math.min(i + 1, last), ArrowLeft: Math.max(i - 1, 0), Home: 0, End: last}[event.key];
    if (event.key === "Escape" && !this.#tip.hidden) {
      event.stopPropagation();  // else it would stop an answer, too
      this.#close(buttons[i]);
    }
    if (to === undefined) return;
    event.preventDefault();
    buttons[i].tabIndex = -1;
    buttons[to].tabIndex = 0;
    buttons[to].focus();
  }

  // In a place of its own, which is there already: over nothing else, and nothing moves.
  #open(button, i) {
    this.#tip.replaceChildren(...tipOf(this.#segments[i]));
    this.#tip.hidden = false;
    button.setAttribute("aria-describedby", this.#tip.id);
  }

  #close(button) {
    this.#tip.hidden = true;
    button.removeAttribute("aria-describedby");
  }
}
