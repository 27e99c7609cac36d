"""Runs `promptcache serve` as a user does: what the tests of it share.

    serve_..._test.py COMMAND TINY_MODEL

The server chooses a port that is free, and each test case has one of its own with an empty store.
"""
import http.client
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

COMMAND, MODEL = sys.argv[1:3]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
CLIENTS = os.environ.get("PC_CLIENTS") or CACHE / "promptcache-clients"  # of scripts/clients
sys.path.append(str(CLIENTS))
PATIENCE = 300  # seconds, of a machine that is busy


class Server:
    """A server with its store, until close()."""

    def __init__(self, *arguments, model=MODEL, cache=None, threads="1"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="serve_test."))
        self.cache = cache or self.folder / "cache"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PROMPTCACHE_")}
        environment |= {"PROMPTCACHE_CACHE_DIR": str(self.cache), "OMP_NUM_THREADS": threads}
        listen = () if {"--socket", "--port"} & set(arguments) else ("--port", "0")
        self.process = subprocess.Popen(
            [COMMAND, "serve", "-m", str(model), "-t", threads, *listen, *arguments], env=environment,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.line = self.first_line()
        self.address = self.line.split()[2] if self.line.startswith("listening on ") else ""
        self.port = int(self.address.rsplit(":", 1)[1].strip("/")) if "://" in self.address else 0
        self.url = f"http://127.0.0.1:{self.port}"

    def first_line(self):
        lines = queue.Queue()
        threading.Thread(target=lambda: lines.put(self.process.stdout.readline()), daemon=True).start()
        return lines.get(timeout=PATIENCE)

    def close(self, how=signal.SIGINT):
        """What it exited with."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.out, self.err = self.process.communicate(timeout=PATIENCE)
        shutil.rmtree(self.folder)
        return self.process.returncode

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, method, path, body=None, headers=None):
        """Status, headers and the body of one request; a body that is no text is written as JSON."""
        connection = self.connect()
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response.status, response.headers, data

    def json(self, method, path, body=None, expect=200):
        status, _, data = self.ask(method, path, body)
        assert status == expect, (status, data)
        return json.loads(data)

    def metric(self, name):
        _, _, page = self.ask("GET", "/metrics")
        return sum(float(line.rsplit(" ", 1)[1]) for line in page.decode().splitlines()
                   if line.split("{")[0].split(" ")[0] == "promptcache_" + name)


class ServeTest(unittest.TestCase):
    ARGUMENTS = ()
    OPTIONS = {}

    def assert_same_chances(self, ones, others):
        """Up to rounding: what is computed beside a row, drafts among it, decides how its sums are divided."""
        self.assertEqual([chance["token"] for chance in ones], [chance["token"] for chance in others])
        for one, other in zip(ones, others):
            self.assertAlmostEqual(one["logprob"], other["logprob"], delta=1e-3)

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.ARGUMENTS, **cls.OPTIONS)

    @classmethod
    def tearDownClass(cls):
        code = cls.server.close()
        assert code == 0, (code, cls.server.err)

    def chat(self, content, **fields):
        body = {"messages": [{"role": "user", "content": content}], "max_tokens": 8, "temperature": 0}
        return self.server.json("POST", "/v1/chat/completions", body | fields)


def events(data):
    """The events of a stream: (name or None, data)."""
    found = []
    for block in data.decode().split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        names = [line[7:] for line in lines if line.startswith("event: ")]
        text = "\n".join(line[6:] for line in lines if line.startswith("data: "))
        if text:
            found.append((names[0] if names else None, text))
    return found
