"""A server that speaks llama.cpp's POST /completion: llama.cpp's own, or promptcache serve."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import time

PATIENCE = 600  # seconds, of a machine that is busy


class Error(Exception):
    """A server that does not start or does not answer."""


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def llama_server(program, model, threads, context, flash):
    """One slot. Its cache of prompts beside the slot is off: the slot's own is what is measured."""
    return [program, "-m", model, "-t", threads, "-c", context, "-np", 1, "-fa", "on" if flash else "off",
            "--fit", "off", "--cache-ram", 0]


def promptcache_serve(program, model, threads, context, store):
    return [program, "serve", "-m", model, "-t", threads, "-c", context, "-q", "--cache-dir", store]


class CompletionServer:
    def __init__(self, command, start=subprocess.Popen):
        """start: as subprocess.Popen, where the process belongs in a group of its own."""
        self.port = free_port()
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PROMPTCACHE_", "LLAMA_ARG_"))}
        self.process = start([str(c) for c in command] + ["--port", str(self.port)], env=environment,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
        os.set_blocking(self.process.stderr.fileno(), False)
        self.said = ""
        deadline = time.monotonic() + PATIENCE
        while not self.healthy():
            if self.process.poll() is not None:
                raise Error(f"{command[0]} ended with {self.process.returncode}: {self.last_words()}")
            if time.monotonic() > deadline:
                self.stop()
                raise Error(f"{command[0]} was not ready after {PATIENCE} s")
            time.sleep(0.1)

    def last_words(self):
        self.drain()
        lines = [line for line in self.said.splitlines() if line.strip()]
        return lines[-1] if lines else "it said nothing"

    def drain(self):
        """What it wrote is taken now and then, so that it never waits for its pipe."""
        try:
            self.said = (self.said + (self.process.stderr.read() or ""))[-4000:]
        except (OSError, TypeError):
            pass

    def healthy(self):
        self.drain()
        try:
            return self.open("GET", "/health")[1].status == 200
        except OSError:
            return False

    def open(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
        return connection, connection.getresponse()

    def complete(self, tokens, n_predict=1, cache=True):
        """A greedy answer: seconds to its first event that has a token, its text, and the server's counters."""
        self.drain()
        begin = time.perf_counter()
        try:
            connection, response = self.open("POST", "/completion", {
                "prompt": list(tokens), "n_predict": n_predict, "temperature": 0, "top_k": 1, "cache_prompt": cache,
                "stream": True})
            with contextlib.closing(connection):
                if response.status != 200:
                    raise Error(f"{response.status}: {response.read()[:300].decode(errors='replace')}")
                return answer_of(events(response), begin)
        except http.client.HTTPException as error:
            raise Error(f"the answer broke off ({type(error).__name__}); the server said: {self.last_words()}") from error

    def idle(self):
        """Waits until ours has kept what it computed, which it does while nobody waits."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            page = self.open("GET", "/metrics")[1].read().decode()
            if waiting(page) == 0:
                return
            time.sleep(0.05)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stderr.close()


def answer_of(found, begin):
    """What complete() returns, of a stream's events."""
    first, text = None, ""
    for event in found:
        if event.get("error"):
            raise Error(f"an error amid the answer: {event['error']}")
        if event.get("tokens") or event.get("content") or event.get("stop"):
            first = first or time.perf_counter() - begin
        text += event.get("content") or ""
        if event.get("stop"):
            return {"s": first, "text": text, **counted(event)}
    raise Error("the answer broke off before its last event")


def events(response):
    while line := response.readline():
        if line.startswith(b"data: ") and line.strip() != b"data: [DONE]":
            yield json.loads(line[6:])


def counted(end):
    """Tokens of the prompt that were there, and that were computed, as the last event says."""
    timings = end.get("timings") or {}
    return {"cached": timings.get("cache_n"), "computed": timings.get("prompt_n"),
            "predicted": timings.get("predicted_n"), "predicted_ms": timings.get("predicted_ms")}


def waiting(metrics):
    """Modules that ours has yet to encode; a page without the line has none."""
    found = metrics.partition("\npromptcache_modules_waiting ")[2].split()
    return float(found[0]) if found else 0
