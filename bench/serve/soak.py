#!/usr/bin/env python3
"""Does the server stay right and of one size under clients that come, change their minds and vanish?

    python3 bench/serve/soak.py [--minutes 10] [--clients 8] [--seed 1] [--model FOLDER]

Clients ask the server of a tiny model of random weights (tests/tools/tiny_model.py) for
conversations that grow, branch and repeat, in all modes, whole and streamed; some close their
connection before the answer or within it. The store is small, so that files are evicted. At the end
each greedy answer that was complete and exact is asked for alone, with mode off, and compared; the
server computes in f32 (--precision exact), so that rounding alone changes no answer, unless a token
had a second best as likely as itself, which is counted apart.
Anonymous memory and open descriptors are looked at each second; printed are their medians by tenths
of the time. Exits with 1 where an answer was wrong, or either grew in the second half of the time.
"""

import argparse
import collections
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import home
from serving import COMMAND, TEMPLATE, Server, ask, connect, events, load_line, post, write_json

TINY = Path(__file__).resolve().parent.parent.parent / "tests/tools/tiny_model.py"
MODES = ("prefix", "prefix", "prefix", "off", "marked", "tools", "documents")
STORE = "16MiB"        # a fraction of what the traffic writes
STORIES, TURNS = 60, 6  # conversations, and their messages at most
WORDS = "harbour tower hill tram museum bridge market river garden station ferry wall".split()
MOST_GROWTH = 1.05     # of memory in the second half; in the first an allocator's arenas fill up
CLOSE = 1e-4           # of log probabilities: f32's rounding over a pass, many times over


def message(story, number):
    draw = random.Random(f"{story} {number}")
    text = " ".join(draw.choice(WORDS) for _ in range(draw.randrange(5, 50)))
    part = {"type": "text", "text": text}
    if draw.random() < 0.3:
        part["cache_control"] = {"type": "ephemeral"}
    return {"role": ("user", "assistant")[number % 2], "content": [part]}


def random_body(draw):
    """Of so few conversations that many are asked again, and begin alike."""
    story = draw.randrange(STORIES)
    fork = draw.randrange(STORIES) if draw.random() < 0.3 else story
    turns = 2 * draw.randrange(TURNS // 2) + 1
    messages = [message(story, i) for i in range(turns - 1)] + [message(fork, turns - 1)]
    body = {"messages": messages, "max_tokens": draw.choice([1, 4, 16, 40]),
            "temperature": draw.choice([0, 0, 0, 1]), "prompt_cache": {"mode": draw.choice(MODES)}}
    if draw.random() < 0.2:
        listed = home.tools(story % 3, 3)
        draw.shuffle(listed)
        body["tools"] = listed
    return body


class Traffic:
    def __init__(self, url, seed):
        self.url, self.seed = url, seed
        self.counts = collections.Counter()
        self.answers = {}  # what is compared: text by the request that would be asked alone
        self.differing = []  # where the same request had two answers
        self.lock = threading.Lock()

    def client(self, number, end):
        draw = random.Random(f"{self.seed} {number}")
        while time.monotonic() < end:
            body, fate = random_body(draw), draw.random()
            try:
                if fate < 0.15:
                    self.vanish(body, draw)
                else:
                    self.complete(body, fate < 0.6)
            except OSError as error:
                self.count(f"failed: {str(error)[:200]}")

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def vanish(self, body, draw):
        connection = connect(self.url)
        if draw.random() < 0.4:
            connection.request("POST", "/v1/chat/completions", json.dumps(body))
            time.sleep(draw.random() * 0.02)
            self.count("left before the answer")
        else:
            answer = events(post(connection, body | {"stream": True}))
            for _ in range(draw.randrange(1, 12)):
                next(answer, None)
            self.count("left within the answer")
        connection.close()

    def complete(self, body, streams):
        connection = connect(self.url)
        if streams:
            text, report = "", {}
            fields = {"stream": True, "stream_options": {"include_usage": True}}
            for event in events(post(connection, body | fields)):
                assert "error" not in event, event
                for choice in event["choices"]:
                    text += choice["delta"].get("content") or ""
                report = event.get("prompt_cache") or report
        else:
            answer = json.load(post(connection, body))
            text, report = answer["choices"][0]["message"]["content"], answer["prompt_cache"]
        connection.close()
        self.count(f"complete, {'streamed' if streams else 'whole'}, {report['used']}")
        if body["temperature"] == 0 and report["exact"]:
            alone = json.dumps(body | {"prompt_cache": {"mode": "off"}})
            with self.lock:
                self.counts["greedy and exact"] += 1
                first = self.answers.setdefault(alone, {"text": text, "from": report["used"]})
                if first["text"] != text:
                    self.differing.append((alone, text))


def is_close(url, body):
    """Alone, was a token drawn whose second best was as likely, up to rounding?"""
    alone = ask(url, body | {"logprobs": True, "top_logprobs": 2})
    gaps = [top[0]["logprob"] - top[1]["logprob"] for top in
            (token["top_logprobs"] for token in alone["choices"][0]["logprobs"]["content"])]
    return min(gaps) < CLOSE


def wrong_answers(traffic):
    """How many are close, and those that are wrong."""
    close, wrong = 0, []
    pairs = [(alone, answer["text"]) for alone, answer in traffic.answers.items()]
    for alone, text in pairs + traffic.differing:
        body = json.loads(alone)
        if ask(traffic.url, body)["choices"][0]["message"]["content"] != text:
            if is_close(traffic.url, body):
                close += 1
            else:
                wrong.append({"body": body, "text": text})
    return close, wrong


def watch(server, end):
    """Each second: KiB of anonymous memory, descriptors."""
    rows = []
    while time.monotonic() < end:
        rows.append((server.memory()[0], server.descriptors()))
        time.sleep(1)
    return rows


def tenths(values):
    step = max(1, len(values) // 10)
    return [statistics.median(values[i * step:(i + 1) * step]) for i in range(len(values) // step)][:10]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=Path, help="another model than the tiny one")
    parser.add_argument("--command", type=Path, default=COMMAND)
    parser.add_argument("--json", type=Path)
    a = parser.parse_args()
    print(load_line())
    with tempfile.TemporaryDirectory() as folder:
        if not a.model:
            subprocess.run([sys.executable, "-B", str(TINY), folder], check=True)
        server = Server(a.command, a.model or folder, 1, "--chat-template", str(TEMPLATE),
                        "--cache-size", STORE, "--precision", "exact")
        traffic, end = Traffic(server.url, a.seed), time.monotonic() + a.minutes * 60
        threads = [threading.Thread(target=traffic.client, args=(i, end)) for i in range(a.clients)]
        for thread in threads:
            thread.start()
        rows = watch(server, end)
        for thread in threads:
            thread.join()
        print(load_line())
        for what, count in sorted(traffic.counts.items()):
            print(f"{count:8} {what}")
        close, wrong = wrong_answers(traffic)
        server.close()
    memory, descriptors = ([row[i] for row in rows] for i in range(2))
    memory, descriptors = tenths(memory), tenths(descriptors)
    print(f"compared alone: {len(traffic.answers) + len(traffic.differing)}, "
          f"{close} differ where two tokens were as likely, {len(wrong)} wrong")
    print("anonymous memory, MiB by tenths:", *(f"{kib / 1024:.1f}" for kib in memory))
    print("descriptors by tenths:", *(f"{count:.0f}" for count in descriptors))
    write_json(a.json, {"counts": traffic.counts, "wrong": wrong, "rows": rows})
    grew = len(memory) == 10 and (memory[9] > memory[4] * MOST_GROWTH
                                  or descriptors[9] > descriptors[4] + 2 * a.clients)
    failed = [what for what in traffic.counts if what.startswith("failed")]
    print("grew" if grew else "did not grow")
    sys.exit(1 if wrong or grew or failed else 0)


if __name__ == "__main__":
    main()
