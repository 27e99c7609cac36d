// Small charts, as SVG that scales with the page.

import {el, svg} from "./dom.js";
import {counted} from "./format.js";

const kHeight = 120, kSides = ["reused", "computed"];

// Columns over time, of two parts. points: [{reused, computed}], the newest last; most: how many fit.
export function timeChart(title, points, most, unit) {
  const top = Math.max(1, ...points.map((p) => p.reused + p.computed));
  const scale = (value) => (value / top) * (kHeight - 4);
  const column = (p, side, x) => {
    const under = side === "reused" ? 0 : p.reused, height = scale(p[side]);
    return svg("rect", {class: side, x: x + 0.1, width: 0.8, y: kHeight - scale(under) - height, height});
  };
  const columns = points.flatMap((p, i) => kSides.map((side) => column(p, side, most - points.length + i)));
  const picture = svg("svg", {viewBox: `0 0 ${most} ${kHeight}`, role: "img", preserveAspectRatio: "none",
    "aria-label": `${title}: at most ${counted(Math.round(top), unit)}`}, ...columns);
  const keys = kSides.map((side) => el("li", {}, el("i", {class: side}), side));
  return el("figure", {class: "chart"}, el("figcaption", {}, title, el("ul", {class: "legend"}, ...keys)), picture,
    el("p", {class: "hint"}, `The top of it is ${counted(Math.round(top), unit)}.`));
}

// rows: [[label, number]]
export function barChart(title, rows, numberText) {
  const top = Math.max(1, ...rows.map(([, value]) => value));
  const items = rows.map(([label, value]) => {
    const bar = el("i");
    bar.style.width = `${(100 * value) / top}%`;
    return el("li", {}, el("span", {}, label), el("span", {class: "track"}, bar),
      el("span", {class: "number"}, numberText(value)));
  });
  return el("figure", {class: "bars"}, el("figcaption", {}, title), el("ul", {}, ...items));
}
