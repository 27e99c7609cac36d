#!/usr/bin/env python3
"""Does a server stand a day's traffic: 1,000 connections, kills and a full disk amid it?

    python3 bench/serve/trace_load.py TRACE.jsonl [--minutes 60] [--speed auto] [--connections 1000] [--kills 2]
                                      [--disk MiB] [--rounds 3] [--verify 300] [--model FOLDER] [--url URL --kill COMMAND]

TRACE is a trace of requests by hashed blocks (Mooncake's: timestamp, output_length, hash_ids). Its first --minutes arrive
as they did, so many times faster as --speed says (auto: so that four fifths of what the server answers on end come). A
block stands for a message of a few words, so prompts share beginnings as the trace's do; an answer has a token for each 32
of the trace. The model is the tiny one of the tests, in f32 (--precision exact). Each second request is streamed. All go
over --connections connections that stay open.

With --rounds the same arrivals come so many times: memory that still grows in the last third of them is lost. Amid them the server is killed (SIGKILL) --kills times and started again on its store, and with --disk (as root) the store
lies on a file system of so many MiB, which is full for a quarter of the time. A client whose connection breaks, or who is
sent away for a while (429, 503), asks again. With --url a server, or a fleet's front, is asked that runs already, and
--kill is the command that kills a part of it.

Printed: requests, those asked again, those lost (none may be); of --verify of them, asked once more alone and without
reuse, how many answers are another (none may be); times to the first token; anonymous memory and descriptors by tenths of
the time. Exits with 1 where an answer is lost or wrong, or memory or descriptors grew.
"""
import argparse
import asyncio
import collections
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from serving import COMMAND, load_line, write_json
from soak import MOST_GROWTH, TEMPLATE, TINY, is_close, tenths

WORDS = "harbour tower hill tram museum bridge market river garden station ferry wall".split()
MOST_BLOCKS = 12      # of a request: what the tiny model's window holds
MOST_TRIES = 200      # of one request, a tenth of a second and more apart


def body_of(request):
    """A message a block: equal blocks, equal messages; the last one is the user's."""
    ids = request["hash_ids"][:MOST_BLOCKS]
    ids = ids if len(ids) % 2 else ids[:-1] or ids
    messages = []
    for number, block in enumerate(ids):
        draw = random.Random(block)
        words = " ".join(draw.choice(WORDS) for _ in range(3))
        messages.append({"role": ("user", "assistant")[number % 2], "content": f"{words} {block}"})
    return {"messages": messages, "max_tokens": max(1, min(24, request["output_length"] // 32)), "temperature": 0}


class Connection:
    """One connection that stays open, and is opened again when it broke."""

    def __init__(self, host, port):
        self.host, self.port, self.reader, self.writer = host, port, None, None

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port)

    def close(self):
        if self.writer:
            self.writer.close()
        self.reader = self.writer = None

    async def ask(self, body):
        """Status, seconds to the first byte of the body, its text, seconds to wait before asking again."""
        if not self.writer:
            await self.open()
        data = json.dumps(body).encode()
        begin = time.perf_counter()
        self.writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                          b"Content-Length: %d\r\n\r\n" % len(data) + data)
        await self.writer.drain()
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        chunks = self.chunks() if "chunked" in fields.get("transfer-encoding", "") else self.whole(int(fields["content-length"]))
        text, first = b"", None
        async for chunk in chunks:
            first = first or time.perf_counter() - begin
            text += chunk
        if fields.get("connection") == "close":
            self.close()
        return int(head.split()[1]), first, text.decode(), float(fields.get("retry-after", 0))

    async def whole(self, n):
        yield await self.reader.readexactly(n)

    async def chunks(self):
        while n := int(await self.reader.readline(), 16):
            yield (await self.reader.readexactly(n + 2))[:-2]
        await self.reader.readline()


def text_of(body, reply):
    if not body.get("stream"):
        return json.loads(reply)["choices"][0]["message"]["content"]
    events = [json.loads(line[6:]) for line in reply.splitlines() if line.startswith("data: {")]
    if not reply.rstrip().endswith("data: [DONE]") or any("error" in event for event in events):
        raise ConnectionError("the stream ended early")
    return "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])


class Traffic:
    def __init__(self, host, port, n_connections):
        self.free = asyncio.Queue()
        for _ in range(n_connections):
            self.free.put_nowait(Connection(host, port))
        self.counts, self.first_s, self.answers = collections.Counter(), [], {}

    async def open_all(self):
        for _ in range(self.free.qsize()):
            connection = await self.free.get()
            await connection.open()
            self.free.put_nowait(connection)

    async def complete(self, body):
        for _ in range(MOST_TRIES):
            connection, pause = await self.free.get(), 0.1
            try:
                status, first, reply, after = await connection.ask(body)
                if status == 200:
                    self.answers[json.dumps(body)] = text_of(body, reply)
                    self.first_s.append(first)
                    self.counts["answered"] += 1
                    return
                self.counts[f"asked again: {status}"] += 1
                pause = max(pause, after)
                if status not in (429, 502, 503, 504):
                    self.counts[f"refused: {status} {reply[:200]}"] += 1
                    return
            except (OSError, EOFError, ValueError, asyncio.IncompleteReadError) as error:
                connection.close()
                self.counts[f"asked again: {type(error).__name__}"] += 1
            finally:
                self.free.put_nowait(connection)
            await asyncio.sleep(pause)
        self.counts["lost"] += 1


class Served:
    """`promptcache serve` on one port for good, over a store that outlives it."""

    def __init__(self, a, model, store):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.store = store
        self.arguments = [a.command, "serve", "-m", model, "-t", str(len(os.sched_getaffinity(0))), "--port", str(self.port), "--quiet",
                          "--cache-dir", store, "--chat-template", TEMPLATE, "--precision", "exact", "--cache-size", a.cache_size]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        self.process = subprocess.Popen(list(map(str, self.arguments)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout.readline().startswith("listening on ")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def size(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("RssAnon:")[1].split()[0]), len(os.listdir(f"/proc/{self.process.pid}/fd"))


async def arrive(traffic, requests, speed):
    begin, tasks = time.monotonic(), []
    for number, request in enumerate(requests):
        await asyncio.sleep(max(0, begin + request["timestamp"] / 1000 / speed - time.monotonic()))
        body = body_of(request) | ({"stream": True} if number % 2 else {})
        tasks.append(asyncio.create_task(traffic.complete(body)))
    await asyncio.gather(*tasks)


async def watch(server, rows):
    while True:
        try:
            rows.append(server.size())
        except (OSError, IndexError):
            pass  # it is being started
        await asyncio.sleep(1)


def kill(a, server):
    if server:
        server.kill()
    else:
        subprocess.run(a.kill, shell=True, check=True)


async def disturb(a, server, seconds):
    """Kills at even distances; the disk is full in the third quarter."""
    loop, begin = asyncio.get_running_loop(), time.monotonic()
    moments = [((i + 1) / (a.kills + 1), "kill") for i in range(a.kills)]
    moments += [(0.5, "fill"), (0.75, "empty")] if a.disk else []
    for share, what in sorted(moments):
        await asyncio.sleep(max(0, begin + share * seconds - time.monotonic()))
        ballast = Path(server.store) / "ballast" if server else None
        if what == "kill":
            await loop.run_in_executor(None, kill, a, server)
        elif what == "fill":
            free = shutil.disk_usage(server.store).free
            subprocess.run(["dd", "if=/dev/zero", f"of={ballast}", "bs=4096", f"count={free // 4096 + 1}"], stderr=subprocess.DEVNULL)
        else:
            ballast.unlink()
        print(f"{time.monotonic() - begin:7.1f} s: {what}", flush=True)


async def rate_of(host, port, requests):
    """Requests a second that are answered on end, of 200 of them."""
    traffic, begin = Traffic(host, port, 32), time.monotonic()
    await asyncio.gather(*(traffic.complete(body_of(r)) for r in requests[:200]))
    return 200 / (time.monotonic() - begin)


def check(url, answers, n):
    import serving
    draw = random.Random(1)
    close, wrong = 0, []
    for text in draw.sample(sorted(answers), min(n, len(answers))):
        body = json.loads(text) | {"prompt_cache": {"mode": "off"}}
        body.pop("stream", None)
        if serving.ask(url, body)["choices"][0]["message"]["content"] != answers[text]:
            if is_close(url, body):
                close += 1
            else:
                wrong.append(text)
    return close, wrong


def read_requests(a):
    once = [json.loads(line) for line in a.trace.open()]
    once = [r for r in once if r["timestamp"] < a.minutes * 60_000]
    return [r | {"timestamp": r["timestamp"] + n * a.minutes * 60_000} for n in range(a.rounds) for r in once]


async def run(a, server, url):
    requests, minutes = read_requests(a), a.minutes * a.rounds
    host, port = urlsplit(url).hostname, urlsplit(url).port
    speed = a.speed
    if speed == "auto":
        rate = await rate_of(host, port, requests)
        speed = 0.8 * rate / (len(requests) / (minutes * 60))
    speed = float(speed)
    print(f"{len(requests)} requests of {minutes:g} minutes, {speed:.1f} times faster, over {a.connections} connections", flush=True)
    traffic, rows = Traffic(host, port, a.connections), []
    await traffic.open_all()
    watching = asyncio.create_task(watch(server, rows)) if server else None
    disturbing = asyncio.create_task(disturb(a, server, minutes * 60 / speed))
    await arrive(traffic, requests, speed)
    disturbing.cancel()
    if watching:
        watching.cancel()
    return requests, traffic, rows


def grows(rows, rounds):
    """Is the most memory of the last round more than after two thirds of them? Before, caches fill that have a bound."""
    step = len(rows) // rounds
    most = [max((row[0] for row in rows[n * step:(n + 1) * step]), default=0) for n in range(rounds)]
    print("most anonymous memory, MiB by rounds:", *(f"{kib / 1024:.1f}" for kib in most))
    return rounds > 2 and most[-1] > most[2 * rounds // 3] * MOST_GROWTH


def report(a, requests, traffic, rows, close, wrong):
    for what, count in sorted(traffic.counts.items()):
        print(f"{count:8} {what}")
    times = sorted(traffic.first_s)
    quantile = lambda q: times[min(len(times) - 1, int(q * len(times)))] * 1000  # noqa: E731
    print(f"first token, ms: median {quantile(.5):.1f}, 95 % {quantile(.95):.1f}, 99 % {quantile(.99):.1f}, most {times[-1] * 1000:.1f}")
    print(f"asked once more alone: {min(a.verify, len(traffic.answers))}, {close} differ where two tokens were as likely, {len(wrong)} wrong")
    memory, descriptors = (tenths([row[i] for row in rows]) for i in range(2)) if rows else ([], [])
    print("anonymous memory, MiB by tenths:", *(f"{kib / 1024:.1f}" for kib in memory))
    print("descriptors by tenths:", *(f"{count:.0f}" for count in descriptors))
    lost = len(requests) - traffic.counts["answered"]
    grew = grows(rows, a.rounds) and not a.kills  # killed processes start small
    grew |= len(descriptors) == 10 and descriptors[9] > statistics.median(descriptors) + 64
    write_json(a.json, {"counts": traffic.counts, "rows": rows, "wrong": wrong})
    print(f"{lost} lost, {'grew' if grew else 'did not grow'}")
    return 1 if lost or wrong or grew else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--speed", default="auto")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--disk", type=int, help="MiB of the store's file system, which is full for a while")
    parser.add_argument("--cache-size", default="32MiB")
    parser.add_argument("--verify", type=int, default=300)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--command", type=Path, default=COMMAND)
    parser.add_argument("--url")
    parser.add_argument("--kill", default="true", help="with --url: the command that kills a part of it")
    parser.add_argument("--json", type=Path)
    a = parser.parse_args()
    print(load_line())
    with tempfile.TemporaryDirectory(prefix="trace_load.") as folder:
        store, model = Path(folder) / "store", Path(folder) / "model"
        store.mkdir()
        if a.disk:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={a.disk}m", "tmpfs", store], check=True)
        try:
            if not a.model and not a.url:
                subprocess.run([sys.executable, "-B", TINY, model], check=True)
            server = None if a.url else Served(a, a.model or model, store)
            url = a.url or server.url
            requests, traffic, rows = asyncio.run(run(a, server, url))
            print(load_line())
            close, wrong = check(url, traffic.answers, a.verify)
            if server:
                server.process.terminate()
                server.process.wait()
        finally:
            if a.disk:
                subprocess.run(["umount", "-l", store], check=False)
    sys.exit(report(a, requests, traffic, rows, close, wrong))


if __name__ == "__main__":
    main()
