#!/usr/bin/env python3
"""What does the reuse of modules cost in answers, and what do repairs buy back?

    python3 bench/answers/answers.py MODEL --set squad [--data FOLDER] [--ways full none ...]
                                     [--n 200] [--documents 4] [--context 0] [--results FILE.jsonl]
                                     [--json FILE.json] [--plot FILE.svg]
                                     [--build build] [--threads 0]
                                     [--frame turns|text] [--chat-template NAME]

Every question is answered greedily in each way (bench/answers/ways.py), from the same tokens: a
full prefill first, then the others. Printed are, for each way: the share of the modules' tokens
that were computed anew; the set's metrics in per cent and, against the full prefill, their
differences with 95 % intervals (bootstrap over questions) and, where answers are right or wrong,
the p of McNemar's exact test; how often the first token is the same; the median of the
Kullback-Leibler divergence of the first token's distribution from that of the full prefill; and how
many times faster the first token came (median).

A prompt that is longer than the context window (--context: than so many tokens) loses whole modules
from its middle; how many questions did is printed, and how many were left out since none fits.

--results keeps one line for each question and way: a run that is interrupted goes on with what is
missing there. --plot draws what --json writes (bench/answers/plot.py). Sets, of published data in a
folder (--data): squad, hotpot, musique, longbench:TASK (bench/answers/longbench.py); generated:
single, two_hop, coreference, which, counting, which_long, counting_long, needle.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import plot  # noqa: E402
import questions  # noqa: E402
import sets  # noqa: E402
import table  # noqa: E402
import ways  # noqa: E402
from client import Client  # noqa: E402
from study import Study  # noqa: E402

DEFAULT_WAYS = ("full", "none", "self", "leading:16", "attended:15%", "selected:15%")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--set", default="single",
                        help=", ".join(sets.NAMES))
    parser.add_argument("--data", type=Path, help="the folder of published sets")
    parser.add_argument("--ways", nargs="+", default=DEFAULT_WAYS,
                        help=ways.__doc__.replace("%", "%%"))
    parser.add_argument("--n", type=int, default=200, help="questions, at most")
    parser.add_argument("--documents", type=int,
                        help=f"of a question; {sets.DOCUMENTS} where the set leaves it open")
    parser.add_argument("--context", type=int, default=0,
                        help="tokens of a prompt and its answer, at most; 0: the model's own")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--kv", choices=("bf16", "q8", "q4"), default="bf16")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--frame", choices=("turns", "text"), default="turns",
                        help="text: without turns, for a model that is not tuned for any")
    parser.add_argument("--chat-template", help="for a model that brings none: chatml, gemma, ...")
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build")
    return parser.parse_args()


def measured(a, made, names):
    """The study's answers: rows, and the keys of questions that were left out."""
    about = {"set": made.name, "model": a.model.name, "documents": a.documents or sets.DOCUMENTS,
             "context": a.context, "kv": a.kv, "chat_template": a.chat_template}
    if a.frame != "turns":
        about["frame"] = a.frame
    with tempfile.TemporaryDirectory() as cache:
        def open_client(kv):
            return Client(a.build / "runtime/libpromptcache.so", a.model, cache, a.threads,
                          a.context, kv, a.chat_template)
        study = Study(open_client(a.kv), made, names, a.results, about, open_client)
        study.run()
    return study


def described(a, made, names, study):
    """What --json writes."""
    least, most, n_cut = table.documents(made, names, study.rows)
    return {"set": made.name, "model": a.model.name, "kv": a.kv, "documents": [least, most],
            "metrics": made.metrics, "cut": n_cut, "left_out": len(study.left_out),
            "ways": table.summary(made, names, study.rows)}


def headline(d):
    least, most = d["documents"]
    lost = f"; {d['cut']} cut in the middle, {d['left_out']} left out: longer than the window" \
        if d["cut"] or d["left_out"] else ""
    return (f"{d['set']}, {d['model']}, {d['ways']['full']['n']} questions of "
            f"{least if least == most else f'{least} to {most}'} documents, {d['kv']} states{lost}")


def main():
    a = arguments()
    names = ["full", *(w for w in a.ways if w != "full")]
    try:
        made = sets.read(a.set, a.data, a.documents, a.n)
        if a.frame == "text":
            made = questions.in_text(made)
        d = described(a, made, names, measured(a, made, names))
    except (OSError, ValueError) as e:
        sys.exit(f"answers.py: {e}")
    print(headline(d), end="\n\n")
    print(*table.lines_of(made, d["ways"]), sep="\n")
    if a.json:
        a.json.write_text(json.dumps(d, indent=1) + "\n")
    if a.plot:
        a.plot.write_text(plot.plot(d, made.metrics[0]))


if __name__ == "__main__":
    main()
