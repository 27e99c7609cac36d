"""A fleet on a cluster of Ray whose nodes are all on this machine, each with a store of its own."""

import contextlib
import http.client
import json
import os
import pathlib
import sys
import time

import pytest

pytest.importorskip("ray", reason="SKIPPED: no Ray here; scripts/python --ray installs it")
from promptcache.ray import commands  # noqa: E402
from promptcache.ray.commands import free_ports  # noqa: E402

os.environ.update(commands.SWIFT | commands.own_ports())  # Ray reads it when it is imported
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
import ray  # noqa: E402
from ray import serve  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

from promptcache.errors import NotFound  # noqa: E402
from promptcache.ray.child import command  # noqa: E402
from promptcache.ray.fleet import FleetOptions, application  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/tools"))
import tiny_model  # noqa: E402

PATIENCE = 120  # seconds, of a machine that is busy
SERVED = ["--precision", "exact", "--prepare", "off"]
try:
    command()
except NotFound as missing:
    pytest.skip(f"SKIPPED: {missing}", allow_module_level=True)


# Of few states for what it computes, so that to fetch them pays, as it does with real models.
SLOW = {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 6,
        "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 64}  # fmt: skip


def model_in(folder, **shape):
    own = dict(tiny_model.SHAPE)
    tiny_model.SHAPE.update(shape)
    try:
        tiny_model.main(folder)
    finally:
        tiny_model.SHAPE.update(own)
    return str(folder)


class Fleet:
    """n nodes, each with room for one replica; the head has room for none."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.cluster = Cluster()
        self.nodes = {}

    def begin(self, n, **options):
        self.cluster.add_node(num_cpus=0, node_name="head", include_dashboard=False)
        for i in range(n):
            self.add_node(f"node{i}")
        ray.init(address=self.cluster.address, log_to_driver=False)
        (self.port,) = free_ports(1)
        serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": self.port})
        self.run(**{"replicas": n, "directory": str(self.folder / "stores"), "options": SERVED} | options)

    def add_node(self, name):
        self.nodes[name] = self.cluster.add_node(num_cpus=1, node_name=name)

    def run(self, **options):
        self.options = FleetOptions(**options)
        serve.run(application(self.options))
        wait_until(lambda: self.status("GET", "/health") == 200, "the fleet answers")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method, path, body=None, timeout=PATIENCE):
        """Status, headers, body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def status(self, method, path):
        try:
            return self.ask(method, path)[0]
        except (OSError, http.client.HTTPException):
            return 0

    def json(self, path, body, expect=200):
        status, _, data = self.ask("POST", path, body)
        assert status == expect, (status, data)
        return json.loads(data)

    def chat(self, messages, **fields):
        body = {"temperature": 0, "max_tokens": 8, "messages": messages}
        return self.json("/v1/chat/completions", body | fields)

    def metric(self, name, **labels):
        """Of all replicas together, or of those with these labels."""
        page = self.ask("GET", "/metrics")[2].decode()
        total = 0.0
        for line in page.splitlines():
            series, _, value = line.rpartition(" ")
            if series.split("{")[0] == name and all(f'{k}="{v}"' in series for k, v in labels.items()):
                total += float(value)
        return total

    def replicas(self):
        """The pid of each replica's process, and of its server."""
        found = {}
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = path.read_bytes().split(b"\0")
                if b"serve" in words and str(self.folder).encode() in b" ".join(words):
                    server = int(path.parent.name)
                    found[parent_of(server)] = server
        return found

    def close(self):
        ray.shutdown()
        self.cluster.shutdown()


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(true, what, patience=PATIENCE):
    end = time.monotonic() + patience
    while not true():
        assert time.monotonic() < end, f"in vain: {what}"
        time.sleep(0.1)


@contextlib.contextmanager
def fleet(folder, n, **options):
    one = Fleet(folder)
    try:
        one.begin(n, **options)
        yield one
    finally:
        one.close()


class Single:
    """One process with the same options, for answers that a fleet's must equal."""

    def __init__(self, folder, model, *options):
        import subprocess

        (self.port,) = free_ports(1)
        self.process = subprocess.Popen(
            [command(), "serve", "-m", model, "-t", "1", "--port", str(self.port), "--quiet",
             "--cache-dir", str(folder), *SERVED, *options], stdout=subprocess.PIPE)  # fmt: skip
        assert self.process.stdout.readline()

    ask, json, chat, status = Fleet.ask, Fleet.json, Fleet.chat, Fleet.status

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
