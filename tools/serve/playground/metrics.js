// What the server counts, live: asked for while the page can be seen, so that the view has a past
// when it is opened.

import {getText} from "./api.js";
import {timeChart, barChart} from "./chart.js";
import {el, facts, table} from "./dom.js";
import {count, milliseconds, percent} from "./format.js";
import {Metrics} from "./prometheus.js";

const kPeriodMs = 2000, kMostPoints = 61;  // two minutes

function totalsOf(metrics) {
  const prompt = metrics.value("prompt_tokens_total"), cached = metrics.value("cached_tokens_total");
  const n = metrics.value("first_token_seconds_count");
  const mean = n ? milliseconds((1000 * metrics.value("first_token_seconds_sum")) / n) : "none yet";
  return facts([
    ["Running", count(metrics.value("answers_running"))],
    ["Waiting", count(metrics.value("answers_waiting"))],
    ["Answers", count(n)],
    ["First token, mean", mean],
    ["Prompt tokens", count(prompt)],
    ["Reused", percent(cached, prompt)],
    ["Answer tokens", count(metrics.value("generated_tokens_total"))],
    ["Given to the store", count(metrics.value("written_tokens_total"))],
  ]);
}

// Prometheus' buckets hold all below their bound; here each its own.
function firstTokens(metrics) {
  let below = 0;
  const rows = metrics.all("first_token_seconds_bucket").map(({labels, value}) => {
    const row = [labels.le === "+Inf" ? "longer" : `to ${milliseconds(1000 * labels.le)}`, value - below];
    below = value;
    return row;
  });
  return barChart("First token, answers by time", rows, count);
}

function modules(metrics) {
  const rows = metrics.all("modules_total").map(({labels, value}) => [labels.outcome.replaceAll("_", " "), value]);
  return barChart("Modules asked for, by outcome", rows, count);
}

function responses(metrics) {
  const columns = [["Route"], ["Status", "number"], ["Responses", "number"]];
  const rows = metrics.all("responses_total").filter(({labels}) => !labels.route.startsWith("/playground/"))
    .map(({labels, value}) => [el("code", {}, labels.route), labels.status, count(value)]);
  return table("Responses", columns, rows);
}

class MetricsView {
  #points = [];
  #last = null;
  #now = null;

  constructor(box) {
    this.box = box;
    this.#tick();
    setInterval(() => this.#tick(), kPeriodMs);
  }

  async #tick() {
    if (document.hidden) {
      this.#last = null;  // what comes while nobody looks belongs to no point
      return;
    }
    try {
      this.#now = new Metrics(await getText("metrics"));
      this.#add(this.#now);
      this.show();
    } catch (error) {
      this.box.replaceChildren(el("p", {class: "error"}, error.message));
    }
  }

  // Tokens of prompts since the tick before.
  #add(metrics) {
    const now = {all: metrics.value("prompt_tokens_total"), reused: metrics.value("cached_tokens_total")};
    const last = this.#last ?? now;
    this.#last = now;
    const since = (name) => Math.max(0, now[name] - last[name]);  // it may be another server
    const all = since("all"), reused = since("reused");
    this.#points.push({reused, computed: all - reused});
    this.#points = this.#points.slice(-kMostPoints);
  }

  show() {
    const metrics = this.#now;
    if (!metrics || this.box.offsetParent === null) return;  // another view is open
    const isFocused = this.box.contains(document.activeElement);  // on the table: nothing else here takes it
    const tokens = timeChart("Tokens of prompts each two seconds, since two minutes ago", this.#points, kMostPoints,
      "token");
    this.box.replaceChildren(
      el("section", {class: "card"}, totalsOf(metrics)),
      el("section", {class: "card"}, tokens),
      el("div", {class: "pair"}, el("section", {class: "card"}, firstTokens(metrics)),
        el("section", {class: "card"}, modules(metrics))),
      responses(metrics));
    if (isFocused) this.box.querySelector(".table").focus();
  }
}

export function startMetrics(panel) {
  const view = new MetricsView(panel.querySelector(".content"));
  return {shown: () => view.show()};
}
