// A text field with the numbers of its lines, which shows what is wrong at the line it is about.
//
// Places are as the server tells them: lines and columns from 1, columns in bytes.

import {el} from "./dom.js";

const kEncoder = new TextEncoder(), kDecoder = new TextDecoder();

// How many characters come before a column of bytes.
function charactersBefore(line, column) {
  return kDecoder.decode(kEncoder.encode(line).slice(0, column - 1)).length;
}

export class Editor {
  #numbers = el("div", {class: "numbers", "aria-hidden": "true"});
  #band = el("div", {class: "band", hidden: true}, el("span"));
  #place = null;

  constructor(box, text) {
    this.box = box;
    this.area = el("textarea", {"aria-label": box.dataset.label, spellcheck: "false", wrap: "off", rows: "14"});
    this.area.value = text;
    box.append(this.#numbers, el("div", {class: "sheet"}, this.#band, this.area));
    this.area.addEventListener("input", () => this.clear());
    this.area.addEventListener("scroll", () => this.#align());
    this.#count();
  }

  get text() {
    return this.area.value;
  }

  // Marks the line, and says what is wrong behind its end.
  mark(line, column, message) {
    const text = this.text.split("\n")[line - 1] ?? "";
    this.#place = {line, end: text.length, at: charactersBefore(text, column ?? 1)};
    this.#band.firstChild.textContent = message;
    this.#band.hidden = false;
    this.area.setAttribute("aria-invalid", "true");
    this.#count();
    this.#align();
  }

  clear() {
    this.#place = null;
    this.#band.hidden = true;
    this.area.removeAttribute("aria-invalid");
    this.#count();
  }

  // The cursor to what is marked.
  go() {
    const before = this.text.split("\n").slice(0, this.#place.line - 1).join("\n").length;
    const at = before + (this.#place.line > 1 ? 1 : 0) + this.#place.at;
    this.area.focus();
    this.area.setSelectionRange(at, at);
  }

  #count() {
    const n = this.text.split("\n").length;
    this.#numbers.replaceChildren(...Array.from({length: n}, (_, i) =>
      el("span", {class: i + 1 === this.#place?.line ? "wrong" : undefined}, `${i + 1}`)));
  }

  // The numbers and the mark go along when the text is scrolled.
  #align() {
    this.#numbers.scrollTop = this.area.scrollTop;
    if (!this.#place) return;
    this.#band.style.setProperty("--line", this.#place.line - 1);
    this.#band.style.setProperty("--end", this.#place.end);
    this.#band.style.translate = `${-this.area.scrollLeft}px ${-this.area.scrollTop}px`;
  }
}
