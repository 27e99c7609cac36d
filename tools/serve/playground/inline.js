// Markdown within a line: text to nodes, made without markup. What is not understood stays the text
// that it is, HTML above all. A link leads to http, https or mail and nowhere else; a picture is a
// link to it, since this page loads nothing from other hosts. Pure, in time linear in the text.

import {el} from "./dom.js";

const kMostDepth = 8;  // of marks in marks
const kProtocols = ["http:", "https:", "mailto:"];
const kCode = /^(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)/;
const kLink = /^!?\[([^\]\n]{0,1000})\]\(\s*<?([^\s<>()]{1,2000}(?:\([^\s<>()]{0,200}\)[^\s<>()]{0,2000})?)>?(?:\s+"[^"\n]{0,300}")?\s*\)/;
const kBare = /^<?(https?:\/\/[^\s<>`"]{1,2000})>?/;
const kMarks = [["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];
const kSpecial = /[\\`*_~![<h]/g;
const kEscaped = /[!-/:-@[-`{-~]/;  // ASCII's punctuation

function hrefOf(address) {
  try {
    const url = new URL(address);  // relative ones would lead to this server's routes
    return kProtocols.includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

function link(address, children) {
  return el("a", {href: hrefOf(address), target: "_blank", rel: "noopener noreferrer"}, ...children);
}

const isWord = (c) => c !== undefined && /[\p{L}\p{N}]/u.test(c);
const isSpace = (c) => c === undefined || /\s/.test(c);

function canOpen(text, at, mark) {
  return !isSpace(text[at + mark.length]) && !(mark[0] === "_" && isWord(text[at - 1]));
}

function canClose(text, at, mark) {
  return !isSpace(text[at - 1]) && !(mark[0] === "_" && isWord(text[at + mark.length]));
}

// Where the text that a mark at `at` opens ends; -1: nowhere.
function closeOf(text, at, mark) {
  for (let end = text.indexOf(mark, at + mark.length + 1); end >= 0; end = text.indexOf(mark, end + 1)) {
    const isLonger = text[end + mark.length] === mark[0];
    if (isLonger) ++end;
    if (mark.length === 1 && isLonger) continue;  // two are another mark
    if (canClose(text, end, mark)) return end;
  }
  return -1;
}

class Line {
  #nodes = [];
  #plain = "";
  #vain = new Set();  // marks that nothing closes any more: looked for once

  constructor(text, depth, isInLink) {
    this.text = text;
    this.depth = depth;
    this.isInLink = isInLink;
  }

  nodes() {
    let at = 0;
    while (at < this.text.length) {
      const taken = this.#special(at);
      if (taken === 0) this.#plain += this.text[at];
      at += Math.max(1, taken);
      kSpecial.lastIndex = at;  // all up to the next that may mean something is text
      const next = kSpecial.exec(this.text)?.index ?? this.text.length;
      this.#plain += this.text.slice(at, next);
      at = next;
    }
    this.#flush();
    return this.#nodes;
  }

  #flush() {
    if (this.#plain) this.#nodes.push(this.#plain);
    this.#plain = "";
  }

  #put(node) {
    this.#flush();
    this.#nodes.push(node);
  }

  // How many characters are something other than themselves here.
  #special(at) {
    switch (this.text[at]) {
      case "\\": return this.#escape(at);
      case "`": return this.#code(at);
      case "!": case "[": return this.#link(at);
      case "<": case "h": return this.#bare(at);
      default: return this.#mark(at);
    }
  }

  #escape(at) {
    if (!kEscaped.test(this.text[at + 1] ?? "")) return 0;
    this.#plain += this.text[at + 1];
    return 2;
  }

  #code(at) {
    const run = /^`+/.exec(this.text.slice(at, at + 100))[0];
    if (!this.#vain.has(run)) {
      const found = kCode.exec(this.text.slice(at));
      if (found) {
        this.#put(el("code", {}, found[2].replace(/^ (.*\S.*) $/, "$1")));
        return found[0].length;
      }
      this.#vain.add(run);
    }
    this.#plain += run;
    return run.length;
  }

  #link(at) {
    const found = this.isInLink ? null : kLink.exec(this.text.slice(at, at + 4000));
    if (!found || !hrefOf(found[2])) return 0;
    const [whole, words, address] = found;
    this.#put(link(address, words ? new Line(words, this.depth + 1, true).nodes() : [address]));
    return whole.length;
  }

  // An address that stands there by itself, without the full stop of its sentence.
  #bare(at) {
    if (this.isInLink || isWord(this.text[at - 1])) return 0;
    const found = kBare.exec(this.text.slice(at, at + 2100));
    if (!found) return 0;
    const isBracketed = found[0].startsWith("<") && found[0].endsWith(">");
    const address = isBracketed ? found[1] : found[1].replace(/[.,;:!?'*_~)\]]+$/, "");
    if (!hrefOf(address) || (found[0].startsWith("<") && !isBracketed)) return 0;
    this.#put(link(address, [address]));
    return isBracketed ? found[0].length : address.length;
  }

  #mark(at) {
    for (const [mark, tag] of kMarks) {
      const isMark = this.depth < kMostDepth && this.text.startsWith(mark, at) && canOpen(this.text, at, mark);
      if (!isMark || this.#vain.has(mark)) continue;
      const end = closeOf(this.text, at, mark);
      if (end < 0) {
        this.#vain.add(mark);
        continue;
      }
      this.#put(el(tag, {}, ...new Line(this.text.slice(at + mark.length, end), this.depth + 1, this.isInLink).nodes()));
      return end + mark.length - at;
    }
    return 0;
  }
}

export function inline(text) {
  return new Line(text, 0, false).nodes();
}
