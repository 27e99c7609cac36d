// Elements, made without markup: what comes of a model, a file or a server is only ever text here.

const kSvg = "http://www.w3.org/2000/svg";

function put(element, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else element.setAttribute(name, value === true ? "" : value);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) put(element, name, value);
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

// el("p", {class: "hint", onclick: f}, "text", el("b", {}, "more"))
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(kSvg, tag), attributes, children);
}

// A list of terms: facts([["Tokens", "12"], ...]).
export function facts(pairs) {
  return el("dl", {class: "facts"},
    ...pairs.map(([term, value]) => el("div", {}, el("dt", {}, term), el("dd", {}, value))));
}

// columns: [["Tokens", "number"], ["Key"]]; rows of texts or elements. Wider than the page, it
// scrolls in itself, by keys too.
export function table(caption, columns, rows) {
  const head = columns.map(([title, kind]) => el("th", {scope: "col", class: kind}, title));
  const body = rows.map((cells) =>
    el("tr", {}, ...cells.map((cell, i) => el("td", {class: columns[i][1]}, cell))));
  return el("div", {class: "table", tabindex: "0", role: "region", "aria-label": caption},
    el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, ...head)),
      el("tbody", {}, ...body)));
}

// Ctrl+Enter (or Command+Enter) in this element.
export function onCtrlEnter(element, act) {
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    act();
  });
}
