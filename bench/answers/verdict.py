#!/usr/bin/env python3
"""What does `check --answers` choose on questions whose right answers are known?

    python3 bench/answers/verdict.py MODEL.gguf --set squad [--data FOLDER] [--n 24]
                                     [--documents 4] [--threads 0] [--command build/tools/promptcache]

Gives the command the schema of a set (whose first modules no question has) and n of its
questions as prompts, and prints its report. Beside it belongs what bench/answers/answers.py counts
of the same questions in the ways of that report.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import sets  # noqa: E402
import ways  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--set", required=True, help=", ".join(sets.NAMES))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--n", type=int, default=24)
    parser.add_argument("--documents", type=int)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--command", type=Path, default=HERE.parents[1] / "build/tools/promptcache")
    a = parser.parse_args()
    made = sets.read(a.set, a.data, a.documents, a.n)
    # Documents that no question has come first: the schema's first modules stand in.
    asked = {d for question in made.questions for d in question.documents}
    documents = list(dict.fromkeys((*made.stand_ins, *sorted(asked))))
    with tempfile.TemporaryDirectory() as folder:
        schema = Path(folder) / "schema.pml"
        schema.write_text(ways.schema_text(made, documents))
        prompts = []
        for number, question in enumerate(made.questions):
            prompts.append(Path(folder) / f"{number}.pml")
            prompts[-1].write_text(ways.prompt_text(made, question))
        subprocess.run([a.command, "check", "-m", a.model, "-t", str(a.threads), "--quiet",
                        "--cache-dir", Path(folder) / "cache", "-s", schema, "--answers", *prompts],
                       check=True)


if __name__ == "__main__":
    main()
