#!/usr/bin/env python3
"""What does the reuse of modules cost in answers, and what do repairs buy back?

    python3 bench/answers/answers.py MODEL --set squad [--data FOLDER] [--ways full none ...]
                                     [--n 200] [--documents 4] [--results FILE.jsonl]
                                     [--build build] [--threads 0] [--chat-template NAME]

Every question is answered greedily in each way (bench/answers/ways.py), from the same tokens: a
full prefill first, then the others. Printed are, for each way: the share of the modules' tokens that
were computed anew; the set's metrics in per cent and, against the full prefill, their differences
with 95 % intervals (bootstrap over questions); how often the first token is the same; the median of
the Kullback-Leibler divergence of the first token's distribution from that of the full prefill; and
how many times faster the first token came (median).

--results keeps one line for each question and way: a run that is interrupted goes on with what is
missing there. sets: squad, hotpot, musique (of published data, --data), and generated ones: single,
two_hop, coreference, needle.
"""

import argparse
import json
import math
import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import intervals  # noqa: E402
import scores  # noqa: E402
import sets  # noqa: E402
import ways  # noqa: E402
from client import Client  # noqa: E402

DEFAULT_WAYS = ("full", "none", "self", "leading:16", "attended:15%", "selected:15%")


def log_softmax(logits):
    top = max(logits)
    total = top + math.log(math.fsum(math.exp(x - top) for x in logits))
    return [x - total for x in logits]


def divergence(p, q):
    """KL(p || q) of log-probabilities."""
    return math.fsum(math.exp(a) * (a - b) for a, b in zip(p, q))


class Study:
    """One set on one model."""

    def __init__(self, client, made, names, results):
        self.client, self.made, self.names, self.results = client, made, names, results
        self.schemas = {}
        self.rows = [json.loads(line) for line in results.read_text().splitlines()] \
            if results and results.exists() else []

    def schema(self, way, question):
        """One for all questions, so that documents are encoded once; of a scaffold, its own."""
        if way == "scaffold":
            text = ways.schema_text(self.made, question.documents, scaffold=True)
            return self.client.parse("schema", self.client.engine, text, None)
        attend = ways.attend_of(way)
        if attend not in self.schemas:
            text = ways.schema_text(self.made, range(len(self.made.documents)), attend)
            self.schemas[attend] = self.client.parse("schema", self.client.engine, text, None)
        return self.schemas[attend]

    def ask(self, question, way):
        schema = self.schema(way, question)
        prompt = self.client.prompt(schema, ways.prompt_text(question))
        if way != "full":
            self.client.encode(prompt)
        answer = self.client.answer(prompt, question.n_tokens, **ways.session_of(way))
        self.client.close_prompt(prompt)
        if way == "scaffold":
            self.client.close_schema(schema)
        return answer

    def row(self, question, way, answer, full):
        s = answer.stats
        same = log_softmax(answer.logits)
        return {"question": question.key, "way": way, "answer": answer.text.strip(),
                "first": answer.first, "ttft_us": s.ttft_us, "prompt_tokens": s.prompt_tokens,
                "module_tokens": s.cached_tokens + s.repaired_tokens,
                "repaired_tokens": s.repaired_tokens, "kl": divergence(full, same),
                **{m: scores.best(m, answer.text.strip(), question.golds)
                   for m in self.made.metrics}}

    def run(self):
        done = {(r["question"], r["way"]) for r in self.rows}
        for i, question in enumerate(self.made.questions):
            missing = [w for w in self.names if (question.key, w) not in done]
            if not missing:
                continue
            full = self.ask(question, "full")
            logits = log_softmax(full.logits)
            for way in missing:
                answer = full if way == "full" else self.ask(question, way)
                self.keep(self.row(question, way, answer, logits))
            if sys.stderr.isatty():
                print(f"\r{i + 1}/{len(self.made.questions)}", end="", file=sys.stderr)

    def keep(self, row):
        self.rows.append(row)
        if self.results:
            with self.results.open("a") as file:
                file.write(json.dumps(row) + "\n")


def summary(made, names, rows):
    """way -> figures, over the questions that all ways answered."""
    table = {}
    for r in rows:
        table.setdefault(r["way"], {})[r["question"]] = r
    keys = [q.key for q in made.questions if all(q.key in table.get(w, {}) for w in names)]
    of = {w: [table[w][k] for k in keys] for w in names}
    result = {}
    for way in names:
        mine, full = of[way], of[names[0]]
        modules = sum(r["module_tokens"] for r in mine)
        result[way] = {
            "n": len(keys),
            "anew": sum(r["repaired_tokens"] for r in mine) / modules if modules else 1.0,
            "metrics": {m: {"mean": intervals.mean([r[m] for r in mine]),
                            "difference": intervals.difference([r[m] for r in mine],
                                                               [r[m] for r in full])}
                        for m in made.metrics},
            "first": intervals.mean([a["first"] == b["first"] for a, b in zip(mine, full)]),
            "kl": statistics.median(r["kl"] for r in mine),
            "faster": statistics.median(b["ttft_us"] / a["ttft_us"] for a, b in zip(mine, full)),
        }
    return result


def lines_of(made, result):
    titles = " | ".join(f"{m}, % | against full" for m in made.metrics)
    yield f"| way | computed anew | {titles} | same first token | KL of it | faster |"
    yield "|--" * (5 + 2 * len(made.metrics)) + "|"
    for way, r in result.items():
        cells = [way, "all" if way == "full" else f"{100 * r['anew']:.1f} %"]
        for m in made.metrics:
            d = r["metrics"][m]
            mean, low, high = (100 * x for x in d["difference"])
            cells += [f"{100 * d['mean']:.1f}",
                      "" if way == "full" else f"{mean:+.1f} ({low:+.1f}..{high:+.1f})"]
        cells += [f"{100 * r['first']:.0f} %", f"{r['kl']:.3f}", f"{r['faster']:.1f}x"]
        yield "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--set", choices=sets.READERS, default="single")
    parser.add_argument("--data", type=Path, help="the folder of published sets")
    parser.add_argument("--ways", nargs="+", default=DEFAULT_WAYS, help=ways.__doc__)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--documents", type=int, default=4, help="of a question")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--kv", choices=("bf16", "q8"), default="bf16")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--chat-template", help="for a model that brings none: chatml, gemma, ...")
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build")
    a = parser.parse_args()
    names = ["full", *(w for w in a.ways if w != "full")]
    try:
        made = sets.read(a.set, a.data, a.documents, a.n)
    except OSError as e:
        sys.exit(f"answers.py: {e}")
    with tempfile.TemporaryDirectory() as cache:
        client = Client(a.build / "runtime/libpromptcache.so", a.model, cache, a.threads, 0, a.kv,
                        a.chat_template)
        study = Study(client, made, names, a.results)
        study.run()
    result = summary(made, names, study.rows)
    print(f"{a.set}, {a.model.name}, {result['full']['n']} questions of {a.documents} documents, "
          f"{a.kv} states\n")
    print(*lines_of(made, result), sep="\n")
    if a.json:
        a.json.write_text(json.dumps({"set": a.set, "model": a.model.name,
                                      "documents": a.documents, "kv": a.kv, "ways": result},
                                     indent=1) + "\n")


if __name__ == "__main__":
    main()
