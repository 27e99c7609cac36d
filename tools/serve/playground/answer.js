// One answer of the model: asked for, shown while it comes, and what it took.

import {events} from "./api.js";
import {el, facts} from "./dom.js";
import {count, milliseconds, percent, rate} from "./format.js";
import {Markdown} from "./markdown.js";

// An answer's text where it is shown, while it comes.
export class AnswerText {
  box = el("div", {class: "text"});
  #markdown = new Markdown(this.box);

  say(piece) {
    this.#markdown.append(piece);
  }

  end() {
    this.#markdown.end();
  }
}

// Asks a route that answers as /v1/chat/completions does, and shows the text as it comes: shown, an
// AnswerText, which ends however the answer does.
// -> {text, finish, usage, timings, prompt_cache}; the last three where the answer came to its end.
export async function ask(path, body, signal, shown) {
  const answer = {text: "", finish: null};
  try {
    await read(answer, path, body, signal, shown);
  } finally {
    shown.end();
  }
  return answer;
}

async function read(answer, path, body, signal, shown) {
  const streaming = {...body, stream: true, stream_options: {include_usage: true}};
  for await (const {data} of events(path, streaming, signal)) {
    const choice = data.choices?.[0];
    const piece = choice?.delta?.content ?? "";
    answer.text += piece;
    answer.finish = choice?.finish_reason ?? answer.finish;
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
