// One answer of the model: asked for, shown while it comes, and what it took.

import {events} from "./api.js";
import {el, facts} from "./dom.js";
import {count, milliseconds, percent, rate} from "./format.js";
import {Markdown} from "./markdown.js";

// What a model thinks before it answers, folded up: its text only grows, and is no Markdown, which
// nobody may ever unfold.
class Thoughts {
  #isEnded = false;
  #summary = el("summary", {}, "Thinking …");
  #words = el("div", {class: "thinking", tabindex: "0", role: "region", "aria-label": "Thoughts"});
  box = el("details", {class: "thoughts", hidden: true}, this.#summary, this.#words);

  add(piece) {
    this.box.hidden = false;
    this.#words.append(piece);
  }

  end() {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#summary.textContent = "Thoughts";
  }
}

// An answer where it is shown, while it comes: its thoughts, and its text.
export class AnswerText {
  #thoughts = new Thoughts();
  #text = el("div", {class: "text"});
  #markdown = new Markdown(this.#text);
  box = el("div", {}, this.#thoughts.box, this.#text);

  think(piece) {
    this.#thoughts.add(piece);
  }

  say(piece) {
    this.#thoughts.end();
    this.#markdown.append(piece);
  }

  end() {
    this.#thoughts.end();
    this.#markdown.end();
  }
}

// Asks a route that answers as /v1/chat/completions does, and shows the answer as it comes. shown:
// an AnswerText, which ends however the answer does. answer: {text: "", finish: null}; gets the
// text, without thoughts, as it comes, and usage, timings and prompt_cache at the end.
export async function ask(answer, path, body, signal, shown) {
  try {
    await read(answer, path, body, signal, shown);
  } finally {
    shown.end();
  }
}

async function read(answer, path, body, signal, shown) {
  const streaming = {...body, stream: true, stream_options: {include_usage: true}};
  for await (const {data} of events(path, streaming, signal)) {
    const choice = data.choices?.[0];
    const piece = choice?.delta?.content ?? "", thought = choice?.delta?.reasoning_content;
    answer.text += piece;
    answer.finish = choice?.finish_reason ?? answer.finish;
    if (thought) shown.think(thought);
    if (piece) shown.say(piece);
    if (data.usage) Object.assign(answer, {usage: data.usage, timings: data.timings, prompt_cache: data.prompt_cache});
  }
}

export function cachedTokens(answer) {
  return answer.usage?.prompt_tokens_details?.cached_tokens ?? 0;
}

export function firstTokenMs(answer) {
  return answer.prompt_cache?.first_token_ms ?? 0;
}

// How much of the prompt was not computed, as a bar that says so too.
function reuseBar(cached, all) {
  const share = all ? cached / all : 0;
  const bar = el("div", {class: "meter", role: "img", "aria-label": `${percent(cached, all)} of the prompt reused`},
    el("i"));
  bar.firstChild.style.width = `${100 * share}%`;
  return bar;
}

export function answerFacts(answer) {
  if (!answer.usage) return el("p", {class: "hint"}, "stopped");
  const {prompt_tokens: all, completion_tokens: made} = answer.usage;
  const cached = cachedTokens(answer);
  const pairs = [
    ["First token", milliseconds(firstTokenMs(answer))],
    ["Reused", `${count(cached)} of ${count(all)}`],
    ["Computed", count(all - cached)],
    ["Newly kept", count(answer.usage.prompt_tokens_details?.cache_write_tokens)],
    ["Answer", `${count(made)} tokens`],
  ];
  const approximate = answer.prompt_cache?.tokens?.approximate;
  if (approximate) pairs.push(["Approximate", count(approximate)]);
  if (answer.timings?.predicted_per_second) pairs.push(["Speed", rate(answer.timings.predicted_per_second)]);
  const box = el("div", {class: "took"}, reuseBar(cached, all), facts(pairs));
  if (answer.finish === "length") box.append(el("p", {class: "hint"}, "Ended by its length."));
  return box;
}
