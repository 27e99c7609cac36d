"""What fails amid load: replicas, nodes, disks, the network. Answers are one process's, or say what is wrong."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

import pytest

from ray_support import PATIENCE, SLOW, Single, fleet, is_alive, model_in, wait_until

CITY = "You are a guide to the city of CITY. You know each tram by its number. " * 8


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return model_in(tmp_path_factory.mktemp("slow"), **SLOW)


@pytest.fixture(scope="module")
def single(tmp_path_factory, model):
    one = Single(tmp_path_factory.mktemp("single"), model)
    yield one
    one.close()


def asked(i):
    return [{"role": "system", "content": CITY.replace("CITY", f"Place {i % 5}")},
            {"role": "user", "content": f"Question {i}?"}]  # fmt: skip


class Load:
    """Clients that ask until they are stopped; what each was answered."""

    def __init__(self, server, n=4):
        self.server, self.answers, self.failures = server, [], []
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(n)]
        for thread in self.threads:
            thread.start()

    def run(self, first):
        for i in range(first, 10**6, len(self.threads)):
            if self.stopped.is_set():
                return
            body = {"temperature": 0, "max_tokens": 24, "messages": asked(i % 40)}
            try:
                status, _, data = self.server.ask("POST", "/v1/chat/completions", body)
            except OSError as error:
                self.failures.append((i, repr(error)))
                continue
            if status == 200:
                self.answers.append((i % 40, json.loads(data)["choices"][0]["message"]["content"]))
            else:
                self.failures.append((i, status, data))

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def wait_for(self, n):
        wanted = len(self.answers) + n
        wait_until(lambda: len(self.answers) >= wanted, f"{n} more answers; {self.failures[:3]}")


@contextlib.contextmanager
def load(server, n=4):
    one = Load(server, n)
    try:
        yield one
    finally:
        one.stop()


def check(answers, single):
    assert len(answers) > 20
    wanted = {i: single.chat(asked(i), max_tokens=24) for i in {i for i, _ in answers}}
    for i, said in answers:
        assert said == wanted[i]["choices"][0]["message"]["content"], i


def modules(server):
    return set(pathlib.Path(server.options.directory).rglob("*.module"))


def test_replicas_that_are_killed(tmp_path, model, single):
    """The actor, or its server, with -9, amid whole answers: each is given by another replica."""
    with fleet(tmp_path, 3, model=model) as three:
        with load(three) as clients:
            clients.wait_for(20)
            kept = modules(three)
            wait_until(lambda: len(three.replicas()) == 3, "three replicas")
            (replica, server), (_, other), _ = three.replicas().items()
            os.kill(replica, signal.SIGKILL)
            wait_until(lambda: not is_alive(server), "the server ends with its replica", 30)
            clients.wait_for(20)
            os.kill(other, signal.SIGKILL)
            clients.wait_for(20)
            wait_until(lambda: len(three.replicas()) == 3, "new replicas start")
            clients.wait_for(20)
        assert clients.failures == []
        check(clients.answers, single)
        assert kept and kept <= modules(three)
        broken_stream(three)


def broken_stream(server):
    """Behind its first text an answer cannot begin again: it ends with an error that says so."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    body = {"stream": True, "max_tokens": 3000, "messages": asked(0), "logit_bias": {"257": -100}}
    connection.request("POST", "/v1/chat/completions", json.dumps(body))
    answer = connection.getresponse()
    read = b""
    while read.count(b"data: ") < 20:
        read += answer.read1()
    running = {label: server.metric("promptcache_answers_running", store=label) for label in server.nodes}
    busy = max(running, key=running.get)
    for replica, child in server.replicas().items():
        if f"/{busy}\0" in pathlib.Path(f"/proc/{child}/cmdline").read_text():
            os.kill(replica, signal.SIGKILL)
    read += answer.read()
    last = [line for line in read.decode(errors="replace").splitlines() if line.startswith("data: ")][-1]
    assert "is gone" in json.loads(last[6:])["error"]["message"]


def test_a_client_that_leaves_ends_its_answer(tmp_path, model):
    """Of one that awaits a whole answer, HAProxy (2.8.25) leaves the close unread now and then."""
    with fleet(tmp_path, 1, model=model) as one:
        assert leaves(one, stream=True)
        assert any(leaves(one, stream=False) for _ in range(4))


def leaves(server, stream):
    """True where the answer of a client that left was ended, and not made to its end."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    body = {"stream": stream, "n": 16, "max_tokens": 1500, "messages": asked(0), "logit_bias": {"257": -100}}
    connection.request("POST", "/v1/chat/completions", json.dumps(body))
    answer = connection.getresponse() if stream else None
    if answer:
        assert answer.read(100)
    wait_until(lambda: server.metric("promptcache_answers_running") == 1, "it is begun")
    before = server.metric("promptcache_abandoned_total")
    if answer:
        answer.close()
    connection.close()
    wait_until(lambda: server.metric("promptcache_answers_running") == 0, "it ends", 10 * PATIENCE)
    return server.metric("promptcache_abandoned_total") > before


def test_a_node_that_is_gone_and_one_that_comes(tmp_path, model, single):
    with fleet(tmp_path, 3, model=model) as three:
        with load(three) as clients:
            clients.wait_for(20)
            three.cluster.remove_node(three.nodes.pop("node0"), allow_graceful=False)
            clients.wait_for(20)
            three.add_node("node0")  # its store is where it was
            wait_until(lambda: three.metric("promptcache_fleet_replicas") == 3, "a third replica")
            clients.wait_for(20)
        check(clients.answers, single)
        assert clients.failures == []


def test_another_model_is_rolled_out(tmp_path, model, single):
    """Answers are the one model's or the other's, and at the end the other's."""
    other = model_in(tmp_path / "other", **SLOW | {"num_hidden_layers": 2})
    with fleet(tmp_path, 2, model=model) as two:
        with load(two) as clients:
            clients.wait_for(20)
            before = len(clients.answers)
            options = {name: getattr(two.options, name) for name in ("replicas", "directory", "options")}
            two.run(model=other, **options)
            clients.wait_for(20)
        assert clients.failures == []
        later = Single(tmp_path / "single", other)
        try:
            for i, said in clients.answers:
                wanted = [one.chat(asked(i), max_tokens=24) for one in (single, later)]
                assert said in [one["choices"][0]["message"]["content"] for one in wanted]
            last = two.chat(asked(7), max_tokens=24)["choices"][0]["message"]["content"]
            assert last == later.chat(asked(7), max_tokens=24)["choices"][0]["message"]["content"]
            assert last != single.chat(asked(7), max_tokens=24)["choices"][0]["message"]["content"]
        finally:
            later.close()
        assert before >= 20


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
def test_a_full_disk_costs_speed_and_no_answer(tmp_path, model, single):
    stores = tmp_path / "stores"
    stores.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(stores)]).returncode:
        pytest.skip("this machine mounts nothing")
    try:
        with fleet(tmp_path, 2, model=model) as full:
            with load(full) as clients:
                clients.wait_for(40)
            assert clients.failures == []
            check(clients.answers, single)
            assert full.metric("promptcache_fleet_exchange_total", outcome="fetched") == 0
    finally:
        subprocess.run(["umount", "-l", str(stores)], check=True)
