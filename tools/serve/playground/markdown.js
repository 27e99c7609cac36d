// Markdown while it comes: headings, lists, tables, quotes, rules, code and paragraphs, made as
// elements and never as markup (inline.js has what stands within a line). A subset, and not
// CommonMark: blocks of a list's items, but for lists in lists, end the list.
//
// What is whole stays as it was made: only the last block is made again, once a frame, and of code,
// the longest of all, not even that. A block too long for it is shown as text.

import {el} from "./dom.js";
import {inline} from "./inline.js";

const kMostOpen = 20000;  // characters of a block that is made again
const kMostDepth = 6;  // of lists in lists, and quotes in quotes
const kFence = /^\s*(`{3,}|~{3,})([^`]*)$/;
const kHeading = /^ {0,3}(#{1,6})\s+(.*)$/;
const kRule = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const kItem = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const kQuote = /^ {0,3}>\s?(.*)$/;
const kUnderHeads = /^\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$/;

const isBlank = (line) => line.trim() === "";
const indentOf = (line) => /^\s*/.exec(line)[0].replaceAll("\t", "    ").length;

// "| a | b\|c |" -> ["a", "b|c"]
function cellsOf(row) {
  const inner = row.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function tableOf([heads, , ...rows]) {
  const names = cellsOf(heads);
  const rowOf = (row) => {
    const cells = cellsOf(row);
    return el("tr", {}, ...names.map((_, i) => el("td", {}, ...inline(cells[i] ?? ""))));
  };
  return el("div", {class: "wide", tabindex: "0", role: "region", "aria-label": "Table"}, el("table", {},
    el("thead", {}, el("tr", {}, ...names.map((name) => el("th", {scope: "col"}, ...inline(name))))),
    el("tbody", {}, ...rows.map(rowOf))));
}

// Lines of one block of text, in which a table may begin.
function textOf(lines) {
  const at = lines.findIndex((line, i) => i > 0 && line.includes("|") && kUnderHeads.test(line.trim()) &&
    lines[i - 1].includes("|"));
  if (at < 0) return [el("p", {}, ...inline(lines.join("\n")))];
  return [...(at > 1 ? textOf(lines.slice(0, at - 1)) : []), tableOf(lines.slice(at - 1))];
}

// Lines of a list, from `at` on, whose items are indented so far or farther -> [element, where it ends].
function listOf(lines, at, depth) {
  const [, space, mark] = kItem.exec(lines[at]), indent = indentOf(space);
  const isNumbered = /\d/.test(mark);
  const list = isNumbered ? el("ol", {start: parseInt(mark, 10)}) : el("ul");
  while (at < lines.length) {
    const item = kItem.exec(lines[at]);
    if (!item || indentOf(item[1]) < indent || /\d/.test(item[2]) !== isNumbered) break;
    let words = item[3];
    for (++at; at < lines.length && !kItem.test(lines[at]); ++at) words += `\n${lines[at].trim()}`;
    const box = el("li", {}, ...inline(words.trimEnd()));
    while (at < lines.length && depth < kMostDepth && indentOf(kItem.exec(lines[at])[1]) > indent) {
      const [inner, end] = listOf(lines, at, depth + 1);
      box.append(inner);
      at = end;
    }
    list.append(box);
  }
  return [list, at];
}

function listsOf(lines) {
  const lists = [];
  for (let at = 0; at < lines.length;) {
    const [list, end] = listOf(lines, at, 0);
    lists.push(list);
    at = end;
  }
  return lists;
}

function quoteOf(lines, depth) {
  const box = el("blockquote");
  const inner = new Markdown(box, depth + 1);
  inner.append(lines.map((line) => kQuote.exec(line)?.[1] ?? line).join("\n"));
  inner.end();
  return [box];
}

const startsBlock = (line) => [kFence, kHeading, kRule, kItem, kQuote].some((kind) => kind.test(line));

// How blocks begin, which lines they go on with, and what is made of them. `ends`: with this line.
const kBlocks = [
  {starts: kHeading, takes: () => false, make: ([line]) => {
    const [, marks, words] = kHeading.exec(line);
    return [el(`h${Math.min(6, marks.length + 3)}`, {class: `level-${marks.length}`}, ...inline(words.trimEnd().replace(/\s#+$/, "")))];
  }},
  {starts: kRule, takes: () => false, make: () => [el("hr")]},
  {starts: kQuote, takes: (line) => kQuote.test(line) || !(isBlank(line) || startsBlock(line)), make: quoteOf},
  {starts: kItem, make: listsOf, takes: (line, lines) => {
    if (kItem.test(line) && !kRule.test(line)) return true;
    if (isBlank(line)) return !isBlank(lines.at(-1));
    return !startsBlock(line) && (indentOf(line) > 1 || !isBlank(lines.at(-1)));
  }},
  {starts: /\S/, takes: (line) => !isBlank(line) && !startsBlock(line), make: textOf},
];

// A block whose elements are made again while lines come.
class Block {
  #lines;
  #size;

  constructor(kind, line, depth) {
    this.kind = kind;
    this.depth = depth;
    this.#lines = [line];
    this.#size = line.length;
  }

  takes(line) {
    return this.#size + line.length <= kMostOpen && this.kind.takes(line, this.#lines);
  }

  add(line) {
    this.#lines.push(line);
    this.#size += line.length + 1;
  }

  // With the line that is not whole yet, where it is of this block.
  nodes(more = []) {
    const lines = [...this.#lines, ...more];
    if (this.#size + (more[0]?.length ?? 0) > kMostOpen) return [el("p", {}, lines.join("\n"))];
    return this.kind.make(lines, this.depth);
  }
}

// Code between fences: its text only grows.
class Code {
  #end;
  #isEnded = false;
  #text = document.createTextNode("");
  #tail = document.createTextNode("");
  #indent;

  constructor(line) {
    const [, fence, language] = kFence.exec(line);
    this.#end = new RegExp(`^\\s*\\${fence[0]}{${fence.length},}\\s*$`);
    this.#indent = indentOf(line);
    const code = el("code", {}, this.#text, this.#tail);
    this.box = el("pre", {tabindex: "0", role: "region", "aria-label": `Code ${language.trim()}`.trim()}, code);
  }

  takes() {
    return !this.#isEnded;
  }

  add(line) {
    this.#tail.data = "";
    if (this.#end.test(line)) this.#isEnded = true;
    else this.#text.appendData(`${this.#inner(line)}\n`);
  }

  // A line within a list's item has the item's indentation before it.
  #inner(line) {
    return line.slice(Math.min(this.#indent, indentOf(line)));
  }

  nodes(more = []) {
    this.#tail.data = more.length ? this.#inner(more[0]) : "";
    return [this.box];
  }
}

function blockOf(line, depth) {
  if (kFence.test(line)) return new Code(line);
  const kind = kBlocks.find(({starts}) => starts.test(line) && (starts !== kQuote || depth < kMostDepth));
  return kind ? new Block(kind, line, depth) : null;
}

export class Markdown {
  #box;
  #depth;
  #open = null;  // the block that may go on
  #shown = [];  // nodes of what may change: the open block, and the line that is not whole
  #tail = "";
  #frame = 0;

  constructor(box, depth = 0) {
    this.#box = box;
    this.#depth = depth;
  }

  append(piece) {
    const lines = (this.#tail + piece).split("\n");
    this.#tail = lines.pop();
    for (const line of lines) this.#take(line.replace(/\r$/, ""));
    this.#frame ||= requestAnimationFrame(() => this.#draw());
  }

  // All is there: shows it now.
  end() {
    cancelAnimationFrame(this.#frame);
    if (this.#tail) this.#take(this.#tail);
    this.#tail = "";
    this.#close();
  }

  #take(line) {
    if (this.#open?.takes(line)) return this.#open.add(line);
    this.#close();
    this.#open = blockOf(line, this.#depth);
  }

  #close() {
    this.#show(this.#open?.nodes() ?? []);
    this.#shown = [];
    this.#open = null;
  }

  #draw() {
    this.#frame = 0;
    const isOfOpen = this.#tail && this.#open?.takes(this.#tail);
    const next = this.#tail && !isOfOpen ? blockOf(this.#tail, this.#depth)?.nodes() ?? [] : [];
    this.#show([...(this.#open?.nodes(isOfOpen ? [this.#tail] : []) ?? []), ...next]);
  }

  // What is in its place already stays: a block of code is not taken out and put in again.
  #show(nodes) {
    for (const node of this.#shown) if (!nodes.includes(node)) node.remove();
    for (const node of nodes) if (!this.#shown.includes(node)) this.#box.append(node);
    this.#shown = nodes;
  }
}
