"""The engines of today.py. Each measures a row in some of its settings and hands out samples.

A sample is a dictionary: "s", the seconds of one run (decoding: of one token of one answer); and where the engine
says so, "computed" and "cached", the prompt's tokens, and "text", what it answered greedily.
"""

import json
import subprocess
from pathlib import Path

import installed
import side_by_side
from completion_server import CompletionServer, llama_server, promptcache_serve
from today_rows import ALL, SESSIONS, new_tokens

HERE = Path(__file__).resolve().parent
OURS, SERVE = "promptcache", "promptcache serve"
ANSWER = 8  # greedy tokens whose text is compared
FLASH, PLAIN = "flash attention", "no flash attention"
REPACKED = "flash attention, weights rearranged"
APART = "flash attention, memory apart"
FIRSTS = [row.n for row in ALL if row.kind == "first"]
ONE = ""  # the setting of an engine that has one


class Error(Exception):
    """An engine that cannot measure a row, in one sentence."""


def sentence(error):
    if isinstance(error, subprocess.CalledProcessError):
        said = (error.stderr or "").strip().splitlines() or ["it said nothing"]
        return f"{Path(str(error.cmd[0])).name} ended with {error.returncode}: {said[-1]}"
    return f"{type(error).__name__}: {error}"


class Context:
    """What all engines need: the file, the threads, a folder for stores, and tokens of real text."""

    def __init__(self, a, folder, tokens):
        self.model, self.threads, self.build, self.peers = a.model.resolve(), a.threads, a.build.resolve(), a.peers
        self.folder, self.tokens = folder, tokens
        self.command = self.build / "tools/promptcache"
        self.in_process = None

    def beginning(self, n, turn):
        """n tokens, others each turn, so that nothing is found of the turns before."""
        at = turn * n + turn
        if at + n > len(self.tokens):
            at = (at + n) % (len(self.tokens) - n)
        return self.tokens[at:at + n]

    def new(self, row, turn, warms_up=False):
        number = FIRSTS.index(row.n) + turn * len(FIRSTS)
        return new_tokens(self.tokens, row.depth, row.n, 2 * number + warms_up)

    def worker(self):
        """promptcache in a process that stays, called through its C API."""
        if not self.in_process:
            self.in_process = side_by_side.worker("promptcache", {
                "library": str(self.build / "runtime/libpromptcache.so"), "file": str(self.model),
                "cache": str(self.folder / "store"), "threads": self.threads, "context": 4096 + 1024, "kv": "bf16"})
        return self.in_process

    def describe(self):
        """What the engine says of the model; where the file lies is nobody's business."""
        return {name: value for name, value in self.worker().call("describe").items() if name != "path"}

    def close(self):
        if self.in_process:
            self.in_process.close()
            self.in_process = None


def run_json(command):
    return json.loads(said_by(command))


def said_by(command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


def cold(row):
    """A second behind half a minute of computing changes nothing: a long prompt is computed once."""
    return ["--no-warmup"] if row.n > 1024 else []


def rows_of_bench(said):
    """Of promptcache bench -o json: a list, as llama-bench's, or of an earlier one an object."""
    return said["tests"] if isinstance(said, dict) else said


class Engine:
    """Its name, the kinds of rows that it measures, and its settings."""

    def settings_of(self, row):
        return self.settings

    def close(self):
        """Ends its processes."""


class Ours(Engine):
    name, kinds, settings = OURS, ("prefill", "decode", "together", "first"), (ONE,)

    def __init__(self, context):
        self.context = context

    def measure(self, row, settings, turn):
        c = self.context
        if row.kind == "first":
            c.worker().call("first", row.depth, row.n)  # warms up: at first the module is encoded
            return {ONE: c.worker().call("first", row.depth, row.n)}
        found = rows_of_bench(run_json([
            c.command, "bench", "-q", "-m", c.model, "-t", c.threads, "-r", 1, "-o", "json", *self.tests(row),
            "--context", row.depth + row.n + 512, "--cache-dir", c.folder / "store"]))
        seconds = found[-1]["samples_ns"][0] / 1e9
        return {ONE: {"s": seconds / {"prefill": 1, "decode": row.n, "together": row.n * SESSIONS}[row.kind]}}

    @staticmethod
    def tests(row):
        if row.kind == "together":
            return ["-p", 0, "-n", row.n, "--cached", row.depth, "--sessions", SESSIONS]
        tokens = ["-p", row.n, "-n", 0] if row.kind == "prefill" else ["-p", 0, "-n", row.n]
        return [*tokens, "-d", row.depth, "--sessions", 0, "--cached", 0, *cold(row)]

    def said(self):
        facts, command = self.context.describe(), [self.context.command, "--version"]
        version = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        return f"promptcache {version.split()[-1]} ({facts['isa']['selected']}); states in {facts['kv_type']}"

    def close(self):
        self.context.close()


class Served(Engine):
    """First tokens of a server with POST /completion. A server for each setting, started when it is
    first asked for; another row may ask for it again, so all stay until the end."""

    def __init__(self, context):
        self.context, self.servers, self.filled = context, {}, set()

    def server(self, setting):
        if setting not in self.servers:
            self.servers[setting] = CompletionServer(self.command(setting))
        return self.servers[setting]

    def settled(self, server):
        """Until what it was sent is kept."""

    def first(self, row, setting, turn):
        server, document = self.server(setting), self.context.tokens[:row.depth]
        if setting not in self.filled:  # its beginning is computed once, and is what is found afterwards
            server.complete(document)
            self.filled.add(setting)
        self.settled(server)
        server.complete(document + self.context.new(row, turn, warms_up=True))
        prompt = document + self.context.new(row, turn)
        self.settled(server)
        sample = server.complete(prompt)
        sample.pop("text")
        if turn == 0:  # the same prompt again, only to compare what is said
            self.settled(server)
            sample["text"] = server.complete(prompt, ANSWER)["text"]
        return sample

    def firsts(self, row, settings, turn):
        return {setting: self.first(row, setting, turn) for setting in settings}

    def close(self):
        for server in self.servers.values():
            server.stop()
        self.servers.clear()


class Serve(Served):
    name, kinds, settings = SERVE, ("first",), (ONE,)

    def command(self, setting):
        c = self.context
        return promptcache_serve(c.command, c.model, c.threads, 4096 + 1024, c.folder / "store")

    def settled(self, server):
        server.idle()

    def measure(self, row, settings, turn):
        return self.firsts(row, settings, turn)

    def said(self):
        return "promptcache serve: a beginning that it keeps, found anew for each request, over HTTP"


class LlamaBench(Served):
    """llama.cpp or ik_llama.cpp: llama-bench, and for first tokens llama-server where it was built."""

    settings = (FLASH, PLAIN)

    def __init__(self, context, name, facts):
        super().__init__(context)
        self.name, self.facts, self.programs = name, facts, facts["programs"]
        self.kinds = ("prefill", "decode", *(["first"] if "llama-server" in self.programs else []),
                      *(["together"] if "llama-batched-bench" in self.programs else []))

    def settings_of(self, row):
        return (FLASH, PLAIN, APART) if row.kind == "together" else self.settings

    def command(self, setting):
        c = self.context
        return llama_server(self.programs["llama-server"], c.model, c.threads, 4096 + 1024, setting == FLASH)

    def measure(self, row, settings, turn):
        if row.kind == "first":
            return self.firsts(row, settings, turn)
        if row.kind == "together":
            return {setting: {"s": self.together(row, setting)} for setting in settings}
        c, found = self.context, {}
        flash = ",".join("1" if s == FLASH else "0" for s in settings)
        tokens = ["-p", row.n, "-n", 0] if row.kind == "prefill" else ["-p", 0, "-n", row.n]
        for test in run_json([self.programs["llama-bench"], "-m", c.model, "-t", c.threads, "-r", 1, "-o", "json",
                              "-fa", flash, *tokens, "-d", row.depth, *cold(row)]):
            seconds = test["samples_ns"][0] / 1e9
            flash_on = test["flash_attn"] in (1, True, "on")
            found[FLASH if flash_on else PLAIN] = {"s": seconds / (row.n if row.kind == "decode" else 1)}
        return found

    def together(self, row, setting):
        """Sessions behind one prompt that they share, in one memory or in copies of it."""
        c, apart = self.context, setting == APART
        room = (row.depth + row.n) * (SESSIONS if apart else 1) + row.n * SESSIONS
        said = said_by([self.programs["llama-batched-bench"], "-m", c.model, "-t", c.threads, "-c", room + 512, "-pps",
                        "-npp", row.depth, "-ntg", row.n, "-npl", SESSIONS, *([] if apart else ["-kvu"]),
                        "-fa", "off" if setting == PLAIN else "on", "--output-format", "jsonl"])
        tests = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        if len(tests) != 1:
            raise Error(f"llama-batched-bench wrote {len(tests)} tests where one was asked for")
        return tests[0]["t_tg"] / (row.n * SESSIONS)

    def said(self):
        return installed.line_of(self.name, self.facts) + "; states in f16"


class IkLlama(LlamaBench):
    """Its llama-bench has -gp in the place of a depth, and warms up with one token: so a short row is
    measured twice, and the second counts. Weights rearranged at the start are a setting of its own."""

    settings = (FLASH, REPACKED, PLAIN)

    def measure(self, row, settings, turn):
        return {setting: {"s": self.seconds(row, setting)} for setting in settings}

    def seconds(self, row, setting):
        c = self.context
        tokens = ["-p", row.n, "-n", 0] if row.kind == "prefill" else ["-p", 0, "-n", 0, "-gp", f"{row.depth},{row.n}"]
        test = run_json([self.programs["llama-bench"], "-m", c.model, "-t", c.threads, "-o", "json",
                         "-r", 1 if max(row.n, row.depth) > 1024 else 2, "-fa", int(setting != PLAIN),
                         "-rtr", int(setting == REPACKED), *tokens])[0]
        return test["samples_ns"][-1] / 1e9 / (row.n if row.kind == "decode" else 1)


class OpenVino(Engine):
    name, kinds, settings = "OpenVINO", ("prefill", "decode", "first"), ("256 at once", "4096 at once")

    def __init__(self, context, facts, folder):
        self.context, self.facts, self.folder, self.workers = context, facts, folder, {}
        self.types = {}

    def worker(self, setting):
        if setting not in self.workers:
            c = self.context
            options = {"file": str(c.model), "folder": str(self.folder), "threads": c.threads,
                       "at_once": int(setting.split()[0])}
            self.workers[setting] = side_by_side.Worker([self.facts["programs"]["python"],
                                                         str(HERE / "openvino_runs.py"), json.dumps(options)])
            self.types = self.workers[setting].call("describe")
        return self.workers[setting]

    def measure(self, row, settings, turn):
        return {setting: self.sample(row, self.worker(setting), turn) for setting in settings}

    def sample(self, row, worker, turn):
        c = self.context
        if row.kind == "prefill":
            if turn == 0 or not cold(row):  # what it makes at a prompt's first size is made
                worker.call("answer", c.beginning(row.n, 0), 1)
            return {"s": worker.call("answer", c.beginning(row.n, turn + 1), 1)["s"]}
        document = c.tokens[:row.depth]
        if row.kind == "decode":
            worker.call("answer", document or c.tokens[:1], 1)
            return {"s": worker.call("answer", document or c.tokens[:1], row.n + 1)["token_s"]}
        worker.call("answer", document + c.new(row, turn, warms_up=True), 1)
        prompt = document + c.new(row, turn)
        sample = {"s": worker.call("answer", prompt, 1)["s"]}
        if turn == 0:
            sample["text"] = worker.call("answer", prompt, ANSWER)["text"]
        return sample

    def said(self):
        types = ", ".join(f"{name} {value}" for name, value in self.types.items())
        return installed.line_of(self.name, self.facts) + f"; {types}"

    def close(self):
        for worker in self.workers.values():
            worker.close()
        self.workers.clear()


def all_of(context, only=None):
    """Those that are there, ours first; and why the others are not."""
    found, missing = [Ours(context), Serve(context)], {}
    for peer in (installed.LLAMA_CPP, installed.IK, installed.OPENVINO):
        facts = installed.made(context.peers, peer)
        if not facts:
            missing[peer] = installed.why_not(context.peers, peer)
        elif peer == installed.OPENVINO:
            found.append(OpenVino(context, facts, context.peers / peer / "models"))
        else:
            found.append((IkLlama if peer == installed.IK else LlamaBench)(context, peer, facts))
    return [e for e in found if not only or any(e.name.startswith(o) for o in only)], missing
