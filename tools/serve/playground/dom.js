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

// columns: [["Tokens", "number"], ["Key"]]; rows of texts or elements. Where the page is narrow each
// row is a list of its cells with the columns' names (style.css), which the roles keep a table.
export function table(caption, columns, rows) {
  const head = columns.map(([title, kind]) => el("th", {scope: "col", role: "columnheader", class: kind}, title));
  const cellOf = (cell, [title, kind]) =>
    el("td", {role: "cell", class: kind, "data-title": title}, el("span", {}, cell));
  const body = rows.map((cells) => el("tr", {role: "row"}, ...cells.map((cell, i) => cellOf(cell, columns[i]))));
  return el("div", {class: "table", tabindex: "0", role: "region", "aria-label": caption},
    el("table", {role: "table"}, el("caption", {}, caption),
      el("thead", {role: "rowgroup"}, el("tr", {role: "row"}, ...head)), el("tbody", {role: "rowgroup"}, ...body)));
}

// Ctrl+Enter (or Command+Enter) in this element.
export function onCtrlEnter(element, act) {
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    act();
  });
}

// Enter in a field of text, where Shift+Enter begins a line. Of an input method, Enter chooses what
// is being written: WebKit tells that by the key's code alone.
export function onEnter(field, act) {
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.altKey) return;
    if (event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    act();
  });
}
