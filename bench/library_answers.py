#!/usr/bin/env python3
"""What does a library cost in answers, and how much sooner do they begin? Published questions, their
passages as a library's documents; the same pieces, found by the same search, as the library answers
(slots and a repair), with the repair left out, and after a full prefill.

    python3 bench/library_answers.py MODEL.gguf --set squad --data FOLDER --work FOLDER [--n 60] [--k 4]

Needs the Python package (PYTHONPATH=python, PROMPTCACHE_LIBRARY=...). Answers are kept in
WORK/SET.jsonl, each with the model and k that it is of: a run that is begun again goes on where one of the
same model and k ended, and --n 0 prints their table alone.
Each question's modules are encoded first, and that is timed by itself; times to the first token
begin with the search."""

import argparse
import json
import re
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "answers"))

import intervals  # noqa: E402
import published  # noqa: E402
import scores  # noqa: E402

import promptcache  # noqa: E402
from promptcache.library import Library  # noqa: E402

WAYS = {"library": {}, "no repair": {"repair": "none"}, "full prefill": {"no_reuse": 1}}
PASSAGES = {"squad": 4, "hotpot": 10, "musique": 10}  # of a question, where the set draws them
MAX_TOKENS = 32
CITED = re.compile(r"\[\d+\]")


def write_documents(folder, texts):
    folder.mkdir(parents=True, exist_ok=True)
    for i, text in enumerate(dict.fromkeys(texts)):
        path = folder / f"passage-{i:04}.txt"
        if not path.exists():
            path.write_text(text.removeprefix("Document: ").strip() + "\n")


def answered(prompt, options, found_s):
    with prompt.session(max_tokens=MAX_TOKENS, **options) as session:
        text = session.text()
        stats = session.stats
    return {"text": text, "first_s": found_s + stats.ttft_us / 1e6,
            "prompt": stats.prompt_tokens, "computed": stats.computed_tokens}


def kind(arguments):
    """What an answer is of, besides the question. A model is its file's name."""
    return {"model": arguments.model.name, "k": arguments.k}


def asked(library, question, arguments):
    start = time.monotonic()
    sources, prompt = library.prompt(question.text.removeprefix("Question: "), arguments.k)
    found_s = time.monotonic() - start
    start = time.monotonic()
    encoded = prompt.encode()
    line = {**kind(arguments), "key": question.key, "golds": question.golds, "found_s": found_s,
            "encode_s": time.monotonic() - start, "encoded_tokens": encoded.tokens_computed,
            "sources": [{"number": s.number, "text": s.text} for s in sources]}
    line["ways"] = {name: answered(prompt, options, found_s) for name, options in WAYS.items()}
    return line


def run(arguments, kept, lines):
    made = published.READERS[arguments.set](arguments.data, PASSAGES[arguments.set])
    write_documents(arguments.work / arguments.set, made.documents)
    done = {line["key"] for line in lines}
    with promptcache.Engine(arguments.model, threads=arguments.threads,
                            cache_dir=arguments.work / "cache") as engine:
        with Library(arguments.work / f"{arguments.set}.library", engine, dense=False,
                     scaffold_after=None) as library:
            library.add(arguments.work / arguments.set)
            for question in made.questions[:arguments.n]:
                if question.key not in done:
                    lines.append(asked(library, question, arguments))
                    kept.write(json.dumps(lines[-1]) + "\n")
                    kept.flush()


def kept_of(path, wanted):
    """The answers of this model and k."""
    lines = map(json.loads, path.read_text().splitlines()) if path.exists() else []
    return [line for line in lines if {name: line.get(name) for name in wanted} == wanted]


def right(line, way):
    return max(scores.contains(CITED.sub(" ", line["ways"][way]["text"]), g) for g in line["golds"])


def holds(text, golds):
    return any(scores.contains(text, gold) for gold in golds)


def cites(line, way):
    """The answer names a piece that holds the right answer."""
    text = line["ways"][way]["text"]
    return float(any(f"[{s['number']}]" in text and holds(s["text"], line["golds"])
                     for s in line["sources"]))


def table(lines):
    if not lines:
        sys.exit("no answers of this model and k are kept")
    full = [right(line, "full prefill") for line in lines]
    print(f"{len(lines)} questions; an answer stands in the pieces found of "
          f"{sum(any(holds(s['text'], line['golds']) for s in line['sources']) for line in lines)}; "
          f"search and prompt {1e3 * statistics.median(x['found_s'] for x in lines):.0f} ms, "
          f"first use of a question's pieces {statistics.median(x['encode_s'] for x in lines):.1f} s "
          "(medians)")
    print("| way | computed, % | holds the answer, % | against full prefill | cites a piece that "
          "holds it, % | first token, s | sooner |\n|--|--|--|--|--|--|--|")
    for way in WAYS:
        values = [right(line, way) for line in lines]
        firsts = [line["ways"][way]["first_s"] for line in lines]
        sooner = statistics.median(line["ways"]["full prefill"]["first_s"] / first
                                   for line, first in zip(lines, firsts))
        share = (sum(line["ways"][way]["computed"] for line in lines)
                 / sum(line["ways"][way]["prompt"] for line in lines))
        mean, low, high = (100 * x for x in intervals.difference(values, full))
        cited = 100 * intervals.mean([cites(line, way) for line in lines])
        print(f"| {way} | {100 * share:.1f} | {100 * intervals.mean(values):.1f} | "
              f"{mean:+.1f} ({low:+.1f} to {high:+.1f}) | {cited:.1f} | "
              f"{statistics.median(firsts):.2f} | {sooner:.1f}× |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--set", choices=PASSAGES, default="squad")
    parser.add_argument("--data", type=Path, required=True, help="folder of published data")
    parser.add_argument("--work", type=Path, required=True, help="folder for what is made")
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    path = arguments.work / f"{arguments.set}.jsonl"
    lines = kept_of(path, kind(arguments))
    if arguments.n:
        with path.open("a") as kept:
            run(arguments, kept, lines)
    table(lines)


if __name__ == "__main__":
    main()
