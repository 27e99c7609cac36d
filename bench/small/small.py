#!/usr/bin/env python3
"""What works on one core and 2 GiB of memory, beside llama.cpp?

    python3 bench/small/small.py MODEL.gguf [--memory 2] [--cpu 0] [--tokens 4096] [--only ours]
                                 [--build build] [--peers DIR] [--json OUT]

Each step is a fresh process in a control group (group.py; takes root) with --memory GiB and one CPU, in
order: the model's first start, which packs its weights, and a question; a question; a chat of two turns;
a module of --tokens tokens encoded, and a question behind it; the server with two clients at once, twice.
llama.cpp: its server, a question, --tokens tokens and a question behind them, two clients. Printed are
whether a step did what was asked, tokens a second while decoding, the time to the first token, the most
memory that was anonymous, of files and in all, and, where a step failed, what it said. A step that the
kernel ended is one that died without an error. The model is copied first, so that its pages are charged
to the group; what a step leaves in the page cache stays there for the next, as on such a machine.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "peers")]
import host  # noqa: E402
import installed  # noqa: E402
import small_table  # noqa: E402
from completion_server import CompletionServer, llama_server, promptcache_serve  # noqa: E402
from group import Error as GroupError, Group  # noqa: E402

ANSWER = 32
QUESTION = "Write a function that adds two numbers."
PATIENCE = 1800


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--memory", type=float, default=2, help="GiB")
    parser.add_argument("--cpu", type=int, default=min(os.sched_getaffinity(0)))
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--only", choices=("ours", "llama.cpp"))
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--peers", type=Path, default=installed.default_folder())
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def tokens_of(command, model, n):
    """The first n tokens of this project's pages, and the text that they are."""
    text = "\n".join(page.read_text() for page in sorted((ROOT / "docs").glob("*.md")))
    out = subprocess.run([command, "tokenize", "-q", "-m", str(model), "--json", "-"], input=text, check=True,
                         capture_output=True, text=True)
    found = json.loads(out.stdout)["tokens"][:n]
    return [t["id"] for t in found], "".join(t["piece"] for t in found)


class Machine:
    """The group, the model's copy, and a folder for stores; runs steps and keeps what they did."""

    def __init__(self, a, group, folder):
        self.a, self.group, self.folder = a, group, folder
        self.command = str((a.build / "tools/promptcache").resolve())
        self.model = folder / a.model.name
        shutil.copy(a.model, self.model)
        self.tokens, self.text = tokens_of(self.command, self.model, a.tokens)
        self.forget()
        self.steps = []

    def forget(self):
        """The model's pages leave the page cache."""
        with self.model.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def step(self, engine, title, work):
        """work() -> facts of what it did; what it could not do it says by an exception."""
        begin = time.monotonic()
        with self.group.watched() as seen:
            try:
                facts = {"works": True, **work()}
            except Exception as error:  # whatever a program does, the next step is run
                facts = {"works": False, "said": str(error) or type(error).__name__}
        self.steps.append({"engine": engine, "step": title, "s": time.monotonic() - begin, **facts, **seen.facts()})
        print(small_table.row(self.steps[-1]), flush=True)

    def ran(self, arguments, given=""):
        """A verb of ours; its standard output."""
        process = self.group.start([self.command, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        out, said = process.communicate(given, timeout=PATIENCE)
        if process.returncode:
            raise Failed(ended(process.returncode, said))
        return out


class Failed(Exception):
    """A step that did not do what was asked, and what it said."""


def ended(code, said):
    lines = [line for line in said.strip().splitlines() if line.strip()]
    if code < 0:
        return f"ended by {signal.Signals(-code).name}, " + (f"last words: {lines[-1]}" if lines else "no word")
    return f"exit code {code}: " + (lines[-1] if lines else "no word")


def answered(out):
    stats = json.loads(out)["stats"]
    return {"first_s": stats["ttft_us"] / 1e6, "tokens_per_s": stats["decode_tokens_per_second"],
            "cached": stats["cached_tokens"], "computed": stats["computed_tokens"]}


def served(answers):
    """Of two clients at once: the slower first token, and tokens a second of both together."""
    rates = [1e3 * (a["predicted"] - 1) / a["predicted_ms"] for a in answers if (a["predicted"] or 0) > 1]
    return {"first_s": max(a["s"] for a in answers), "tokens_per_s": sum(rates) if rates else None,
            "cached": min(a["cached"] or 0 for a in answers), "computed": max(a["computed"] or 0 for a in answers)}


def at_once(server, prompts):
    found, failures = [], []

    def ask(prompt):
        try:
            found.append(server.complete(prompt, ANSWER))
        except Exception as error:  # a thread's own would be lost
            failures.append(error)
    threads = [threading.Thread(target=ask, args=(prompt,)) for prompt in prompts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise Failed(f"{len(failures)} of {len(prompts)} requests failed: {failures[0]}")
    return served(found)


def ours(machine):
    a, store = machine.a, machine.folder / "store"
    base = ["-m", str(machine.model), "-t", "1", "--cache-dir", str(store)]
    asked = ["run", *base, "--json", "-q", "-n", str(ANSWER), QUESTION]
    machine.step("promptcache", "first start, a question", lambda: answered(machine.ran(asked)))
    machine.step("promptcache", "a question", lambda: answered(machine.ran(asked)))

    def chat():
        out = machine.ran(["chat", *base, "-q", "-n", str(ANSWER)], f"{QUESTION}\nAnd one that multiplies.\n")
        if not out.strip():
            raise Failed("it answered nothing")
        return {}
    machine.step("promptcache", "a chat of two turns", chat)
    schema, prompt = machine.folder / "small.pml", machine.folder / "prompt.pml"
    schema.write_text(f'<schema name="small"><module name="pages">{escaped(machine.text)}</module></schema>')
    prompt.write_text('<prompt schema="small"><pages/><user>What is this about?</user></prompt>')
    machine.step("promptcache", f"a module of {a.tokens} tokens encoded",
                 lambda: machine.ran(["encode", *base, "-q", "-s", str(schema)]) and {} or {})
    machine.step("promptcache", f"a question behind {a.tokens}", lambda: answered(machine.ran(
        ["run", *base, "--json", "-q", "-n", str(ANSWER), "-s", str(schema), str(prompt)])))
    serve(machine, "promptcache serve", promptcache_serve(machine.command, machine.model, 1, a.tokens + 1024, store))


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def serve(machine, name, command):
    """Two clients at once, each with its own beginning; then the same beginnings with another end."""
    tokens, half = machine.tokens, len(machine.tokens) // 2
    prompts = [tokens[:half], tokens[half:]]
    server = []

    def start():
        server.append(CompletionServer(command, machine.group.start))
        return {}
    machine.step(name, "start", start)
    if server:
        machine.step(name, f"two clients, {half} tokens each", lambda: at_once(server[0], prompts))
        machine.step(name, "the same, 16 new", lambda: at_once(server[0], [p + tokens[7:23] for p in prompts]))
        server[0].stop()


def theirs(machine, program):
    a = machine.a
    serving = llama_server(program, machine.model, 1, a.tokens + 1024, True)
    server = []

    def start():
        server.append(CompletionServer(serving, machine.group.start))
        return {}
    machine.step("llama.cpp", "start of its server", start)
    if server:
        machine.step("llama.cpp", "a question", lambda: served([server[0].complete(machine.tokens[:24], ANSWER)]))
        machine.step("llama.cpp", f"{a.tokens} tokens", lambda: served([server[0].complete(machine.tokens, ANSWER)]))
        machine.step("llama.cpp", f"a question behind {a.tokens}",
                     lambda: served([server[0].complete(machine.tokens + machine.tokens[7:31], ANSWER)]))
        server[0].stop()
    two = list(serving)
    two[two.index("-np") + 1] = 2
    serve(machine, "llama.cpp, two slots", two)


def measure(a, folder):
    group = Group(int(a.memory * 2**30), a.cpu)
    try:
        machine = Machine(a, group, Path(folder))
        if a.only != "llama.cpp":
            ours(machine)
        facts = installed.made(a.peers, installed.LLAMA_CPP)
        if a.only != "ours" and facts and "llama-server" in facts["programs"]:
            shutil.rmtree(machine.folder / "store", ignore_errors=True)  # its pages are not llama.cpp's
            machine.forget()
            theirs(machine, facts["programs"]["llama-server"])
        elif a.only != "ours":
            print(f"llama.cpp is left out: {installed.why_not(a.peers, installed.LLAMA_CPP)}", file=sys.stderr)
    finally:
        group.close()
    return machine.steps


def main():
    a = parse_arguments()
    print(small_table.HEAD, flush=True)
    load = host.load()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench/small: ended from outside"))  # the group goes, too
    try:
        with tempfile.TemporaryDirectory(prefix="bench_small.", dir=a.model.parent) as folder:
            steps = measure(a, folder)
    except GroupError as error:
        sys.exit(f"bench/small: {error}")
    result = {"file": a.model.name, "memory_gib": a.memory, "host": host.describe(), "load": load, "steps": steps}
    print(small_table.foot(result))
    if a.json:
        a.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
