#!/usr/bin/env python3
"""How much of its prompts does a fleet find, routed by beginnings, at random, one after the other? What does its front cost?

    PROMPTCACHE_COMMAND=build/tools/promptcache PROMPTCACHE_LIBRARY=build/runtime/libpromptcache.so \\
        python bench/serve/fleet.py [MODEL] [--nodes 1 2 4 8] [--quota 20] [--json FILE]

Each node is a node of a Ray cluster on this machine, with a store of its own and one server of one thread, which gets QUOTA per
cent of a processor where the machine has control groups to say so (version 1, as root). Clients hold conversations, CLIENTS for
each node at once, in an order that a seed decides: each begins with one of a few system messages and has TURNS turns; each
fleet begins with empty stores. Counted is what answers say of their prompts' tokens. The front's cost: the same
request, whose prompt is stored, in turns to the front and to the server's socket. MODEL: a folder or a GGUF file; by default
a small seeded one is made.
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import pathlib
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE.parent.parent / "tests/python", HERE, HERE.parent.parent / "tests/tools/serve"):
    sys.path.append(str(folder))
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
import ray_support  # noqa: E402
from ray import serve  # noqa: E402

from promptcache.ray.fleet import ROUTER, FleetOptions, application  # noqa: E402

WAYS = {
    "beginnings": (ROUTER, True),
    "beginnings, no exchange": (ROUTER, False),
    "random": ("fleet_routers.RandomRouter", False),
    "round robin": ("fleet_routers.RoundRobinRouter", False),
}
SYSTEMS, CONVERSATIONS, TURNS, CLIENTS = 8, 48, 4, 2
GROUP = pathlib.Path("/sys/fs/cgroup/cpu/promptcache-bench")


class Bench(ray_support.Fleet):
    def run(self, router=ROUTER, **options):
        self.options = FleetOptions(**options)
        serve.run(application(self.options, router))
        ray_support.wait_until(lambda: self.status("GET", "/health") == 200, "the fleet answers")


def words(draw, n):
    return " ".join(draw.choice(WORDS) for _ in range(n))


# 5 million weights: of 20 % of a processor a few thousand tokens a second.
SHAPE = {"hidden_size": 256, "intermediate_size": 768, "num_hidden_layers": 6, "head_dim": 64}
WORDS = "harbour tram tower museum bridge river market square garden station island hill".split()


def limit(server, percent):
    """QUOTA per cent of a processor for this server."""
    if not percent or not GROUP.parent.is_dir() or os.geteuid() != 0:
        return False
    group = GROUP / str(server)
    group.mkdir(parents=True, exist_ok=True)
    (group / "cpu.cfs_period_us").write_text("20000")
    (group / "cpu.cfs_quota_us").write_text(str(200 * percent))
    for task in pathlib.Path(f"/proc/{server}/task").iterdir():
        (group / "tasks").write_text(task.name)
    return True


def conversation(fleet, seed):
    """Of each turn: prompt's tokens, computed ones, seconds until the whole answer."""
    draw = random.Random(seed)
    system = words(random.Random(f"system {draw.randrange(SYSTEMS)}"), 180)
    messages = [{"role": "system", "content": system}]
    found = []
    for _ in range(TURNS):
        messages.append({"role": "user", "content": words(draw, 30)})
        began = time.perf_counter()
        answer = fleet.chat(messages, max_tokens=8)
        tokens = answer["prompt_cache"]["tokens"]
        found.append((tokens["prompt"], tokens["computed"], time.perf_counter() - began))
        messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})
    return found


def measure(nodes, way, model, quota):
    router, exchange = WAYS[way]
    with tempfile.TemporaryDirectory(prefix="bench_fleet.") as folder:
        fleet = Bench(folder, nodes, model=model, router=router, exchange=exchange)
        try:
            limited = all([limit(server, quota) for server in fleet.replicas().values()])
            began = time.perf_counter()
            with concurrent.futures.ThreadPoolExecutor(CLIENTS * nodes) as pool:
                turns = sum(pool.map(lambda seed: conversation(fleet, seed), range(CONVERSATIONS)), [])
            seconds = time.perf_counter() - began
            fetched = fleet.metric("promptcache_fleet_exchange_total", outcome="fetched")
        finally:
            fleet.close()
    prompt, computed = sum(t[0] for t in turns), sum(t[1] for t in turns)
    return {"nodes": nodes, "way": way, "prompt": prompt, "computed": computed, "hit": 1 - computed / prompt,
            "median_s": statistics.median(t[2] for t in turns), "p95_s": sorted(t[2] for t in turns)[len(turns) * 95 // 100],
            "seconds": seconds, "fetched": fetched, "limited": limited}  # fmt: skip


class Socket(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def timed(connection, body, stream):
    began = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", json.dumps(body | {"stream": stream}))
    answer = connection.getresponse()
    answer.read(1)
    first = time.perf_counter() - began
    answer.read()
    return 1e3 * (first if stream else time.perf_counter() - began)


def front(model, n):
    """Milliseconds beyond the server's own: whole answers of 8 tokens, and a stream's first byte."""
    with tempfile.TemporaryDirectory(prefix="bench_fleet.") as folder:
        fleet = Bench(folder, 1, model=model)
        try:
            (server,) = fleet.replicas().values()
            arguments = pathlib.Path(f"/proc/{server}/cmdline").read_text().split("\0")
            ways = {"front": http.client.HTTPConnection("127.0.0.1", fleet.port),
                    "server": Socket(arguments[arguments.index("--socket") + 1])}  # fmt: skip
            body = {"temperature": 0, "max_tokens": 8,
                    "messages": [{"role": "user", "content": words(random.Random(1), 100)}]}  # fmt: skip
            found = {}
            for stream in (False, True):
                times = {name: [] for name in ways}
                for i in range(n + 20):
                    for name, connection in ways.items():
                        times[name].append(timed(connection, body, stream))
                kept = {name: sorted(values[20:]) for name, values in times.items()}
                found["stream" if stream else "whole"] = {
                    name: (statistics.median(values), values[len(values) * 95 // 100])
                    for name, values in kept.items()
                }
        finally:
            fleet.close()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="a GGUF file or a folder")
    parser.add_argument("--nodes", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--quota", type=int, default=20, help="per cent of a processor for each server; 0: no limit")
    parser.add_argument("--front", type=int, default=300, help="requests of the front's cost; 0: none")
    parser.add_argument("--json", type=pathlib.Path)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench_model.") as folder:
        model = a.model or ray_support.model_in(folder, **SHAPE)
        rows = {"front": None, "fleets": []}
        if a.front:
            # Of a model that computes next to nothing.
            tiny = a.model or ray_support.model_in(pathlib.Path(folder) / "tiny")
            rows["front"] = front(tiny, a.front)
            for kind, times in rows["front"].items():
                print(f"{kind}: front {times['front'][0]:.2f} ms (95 %: {times['front'][1]:.2f}), server "
                      f"{times['server'][0]:.2f} ({times['server'][1]:.2f}), difference of medians "
                      f"{times['front'][0] - times['server'][0]:.2f} ms", flush=True)  # fmt: skip
        print("| nodes | routed by | prompt's tokens | computed | found | answer, median (95 %) | fetched |\n|--|--|--|--|--|--|--|")
        for nodes in a.nodes:
            for way in a.ways if nodes > 1 else a.ways[:1]:
                row = measure(nodes, way, model, a.quota)
                rows["fleets"].append(row)
                print(f"| {nodes} | {way} | {row['prompt']:,} | {row['computed']:,} | {100 * row['hit']:.1f} % | "
                      f"{1e3 * row['median_s']:.0f} ms ({1e3 * row['p95_s']:.0f}) | {row['fetched']:.0f} |", flush=True)  # fmt: skip
        if a.json:
            a.json.write_text(json.dumps(rows, indent=1) + "\n")
    subprocess.run(["rmdir", *map(str, GROUP.glob("*")), str(GROUP)], stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
