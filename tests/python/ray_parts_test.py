"""The fleet's parts that need no Ray: rates, reports, pages, the directory, errors, a server as a child."""

import argparse
import json
import os
import pathlib
import signal
import socket
import stat
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache import errors
from promptcache.ray import child, commands
from promptcache.ray.asked import Asked
from promptcache.ray.commands import free_ports, own_ports
from promptcache.ray.directory import Directory, Report
from promptcache.ray.explained import explained, route_of
from promptcache.ray.pages import merged
from promptcache.ray.rates import Rates


@given(st.integers(10**4, 10**9), st.floats(0.01, 100), st.integers(1, 10**5), st.floats(0.001, 10**3))
def test_what_was_measured_decides(n_bytes, seconds, tokens, computing):
    rates = Rates()
    for _ in range(60):
        rates.note_fetch(n_bytes, seconds)
    rates.note_computed(tokens, computing)
    if computing > 1.1 * seconds + 0.1:
        assert rates.is_worth(n_bytes, tokens)
    if computing < 0.9 * seconds - 0.1:
        assert not rates.is_worth(n_bytes, tokens)


def test_nothing_to_gain_is_not_worth_it_and_the_unknown_is_tried():
    rates = Rates()
    assert not rates.is_worth(0, 0)
    assert rates.is_worth(1 << 30, 1)
    rates.note_computed(0, 0.0)
    assert rates.is_worth(1 << 30, 1)


def test_nobody_waits_longer_than_computing_takes():
    rates = Rates()
    unknown = rates.patience(1)
    rates.note_computed(1000, 1.0)
    assert rates.patience(2000) == 2.0
    assert 0 < rates.patience(0) < 1 and rates.patience(10**9) == unknown


def test_an_explanation_says_what_is_there_and_what_is_missing():
    part = {"key": "a", "bytes": 10, "tokens": 5}
    report = {"computed_tokens": 7,
              "modules": [part | {"state": "memory"}, part | {"key": "b", "state": "miss"}],
              "chain": [part | {"key": "c", "state": "hit"}, part | {"key": "d", "state": "miss"}]}  # fmt: skip
    found = explained(report)
    assert found.computed_tokens == 12
    assert found.there == {"a": 10, "c": 10}
    assert found.missing_modules == ["b"]
    assert route_of("/v1/chat/completions") and route_of("/tokenize") is None


def test_pages_are_one_page():
    page = ("# HELP a How many.\n# TYPE a counter\na{route=\"/x\"} 1\n# TYPE h histogram\n"
            "h_bucket{le=\"+Inf\"} 2\nh_sum 0.5\nh_count 2\n")  # fmt: skip
    whole = merged([({"replica": "r1"}, page), ({"replica": 'r"2'}, page), ({}, "b 3\n")])
    lines = whole.splitlines()
    assert lines.count("# TYPE a counter") == lines.count("# TYPE h histogram") == 1
    assert 'a{route="/x",replica="r1"} 1' in lines and 'a{route="/x",replica="r\\"2"} 1' in lines
    assert lines.index("# TYPE h histogram") < lines.index('h_sum{replica="r1"} 0.5')
    assert 'h_bucket{le="+Inf",replica="r1"} 2' in lines and "b 3" in lines
    assert len(lines) == 3 + 2 * 4 + 1


def test_a_directory_that_starts_anew_asks_for_all():
    directory = Directory()
    assert directory.report(Report("node", "r", True, ["k1", "k2"], []), ["agent"])
    assert directory.report(Report("node", "r", False, ["k3"], ["k1"]), ["agent"])
    assert directory.who(["k1", "k2", "k3"]) == {"node": 2}
    assert directory.agents(["node", "other"]) == {"r": "agent"}
    again = Directory()
    assert not again.report(Report("node", "r", False, ["k4"], []), ["agent"])
    directory.drop("r")
    assert directory.agents(["node"]) == {}
    assert not directory.report(Report("node", "r", False, [], []), ["agent"])


def test_a_directory_forgets_stores_that_nobody_reports(monkeypatch):
    directory, now = Directory(), time.monotonic()
    directory.report(Report("gone", "r", True, ["k"], []), ["agent"])
    monkeypatch.setattr(time, "monotonic", lambda: now + 3600)
    directory.report(Report("here", "s", True, ["k"], []), ["agent"])
    assert directory.who(["k"]) == {"here": 1}


def test_a_directory_keeps_the_newest_schemas():
    directory = Directory()
    for i in range(70):
        directory.keep_schema(f"schema {i}", Asked("POST", "/pml/schemas", [], b"%d" % i))
    directory.drop_schema("schema 69")
    assert [asked.body for asked in directory.schemas()] == [b"%d" % i for i in range(6, 69)]


def server_of(tmp_path, text, monkeypatch):
    path = tmp_path / "promptcache"
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PROMPTCACHE_COMMAND", str(path))


def test_a_server_that_fails_says_why(tmp_path, monkeypatch):
    server_of(tmp_path, "import sys\nsys.exit('no such model')", monkeypatch)
    one = child.Child(["-m", "nothing"], lambda _: pytest.fail("it did not begin"))
    with pytest.raises(errors.Error, match="no such model"):
        one.wait_until_it_listens()
    one.close()
    assert not pathlib.Path(one.folder).exists()


def test_a_server_that_ends_is_told_of(tmp_path, monkeypatch):
    server_of(tmp_path, "import sys\nprint('listening', flush=True)\nsys.exit('out of luck')", monkeypatch)
    told = []
    one = child.Child([], told.append)
    one._keeper.join(30)
    assert told == ["out of luck"]
    one.close()


def test_a_server_ends_with_the_process_that_started_it(tmp_path, monkeypatch):
    server_of(tmp_path, "import time\nprint('listening', flush=True)\ntime.sleep(600)", monkeypatch)
    starting = ("from promptcache.ray.child import Child\nimport time\n"
                "one = Child([], print)\none.wait_until_it_listens()\nprint(one.pid, flush=True)\ntime.sleep(600)")  # fmt: skip
    parent = subprocess.Popen([sys.executable, "-c", starting], stdout=subprocess.PIPE)
    server = int(parent.stdout.readline())
    assert pathlib.Path(f"/proc/{server}").exists()
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    end = time.monotonic() + 30
    while pathlib.Path(f"/proc/{server}/cmdline").exists() and pathlib.Path(
        f"/proc/{server}/cmdline"
    ).read_bytes():
        assert time.monotonic() < end, "the server outlived its replica"
        time.sleep(0.05)


def test_a_command_that_is_missing_is_said(monkeypatch, tmp_path):
    monkeypatch.delenv("PROMPTCACHE_COMMAND", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    if not (pathlib.Path(child.__file__).parent.parent / "bin" / "promptcache").exists():
        with pytest.raises(errors.NotFound, match="PROMPTCACHE_COMMAND"):
            child.command()
    monkeypatch.setenv("PROMPTCACHE_COMMAND", str(tmp_path / "nothing"))
    with pytest.raises(errors.NotFound, match="nothing"):
        child.command()


def test_without_ray_the_command_says_what_to_install():
    run = subprocess.run(
        [sys.executable, "-c", "import importlib.util\nreal = importlib.util.find_spec\n"
         "importlib.util.find_spec = lambda name, *r: None if name == 'ray' else real(name, *r)\n"
         "from promptcache.__main__ import main\nraise SystemExit(main(['fleet', '-m', 'x']))"],
        capture_output=True, text=True, env=os.environ,
    )  # fmt: skip
    assert run.returncode == 1
    assert "pip install 'promptcache[ray]'" in run.stderr


def test_numbers_of_the_command_are_counts():
    for wrong in ("0", "-1", "x", ""):
        with pytest.raises(commands.argparse.ArgumentTypeError):
            commands._count(wrong)


def test_errors_are_in_the_words_of_their_protocol():
    failing = pytest.importorskip("promptcache.ray.failing")
    openai = json.loads(failing.refused("/v1/chat/completions", 429, "busy").body)
    assert openai["error"]["type"] == "rate_limit_error"
    assert json.loads(failing.refused("/v1/messages", 503, "gone").body)["type"] == "error"
    assert json.loads(failing.refused("/api/chat", 503, "gone").body) == {"error": "gone"}
    assert failing.refused("/x", 429, "busy").headers["retry-after"] == "1"
    event = failing.broken("/v1/messages", "text/event-stream", "gone").decode()
    assert event.startswith("event: error\ndata: {") and event.endswith("}\n\n")
    assert failing.broken("/api/chat", "application/x-ndjson", "gone").endswith(b"}\n")
    assert failing.broken("/v1/chat/completions", "application/json", "gone") == b""


def test_clusters_that_others_start_are_told_the_same_variables():
    examples = pathlib.Path(__file__).resolve().parents[2] / "examples/ray"
    for name in ("Dockerfile", "serve.yaml"):
        text = (examples / name).read_text()
        assert [f"{key}={value}" for key, value in commands.SWIFT.items() if f"{key}={value}" not in text] == []


def test_ports_are_free_different_and_nobody_is_given_them_unasked():
    ranges = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
    first, _ = map(int, ranges.read_text().split()) if ranges.exists() else (49152, 65535)
    held = [socket.create_server(("127.0.0.1", port)) for port in free_ports(300)]
    taken = {one.getsockname()[1] for one in held}
    for _ in range(200):  # of ten thousand, so that a taken one would be drawn
        ports = set(free_ports(4))
        assert len(ports) == 4 and not ports & taken and max(ports) < max(first, 30000)
    for one in held:
        one.close()
    for port in range(20000, 30000, 50):
        ports = own_ports({*range(20000, 30000)} - {port, *range(29000, 29010)}).values()
        assert len(set(ports)) == 4 and set(ports) <= {str(port), *map(str, range(29000, 29010))}


@pytest.mark.parametrize("port", ["-1", "0", "65536", "http"])
def test_a_port_is_a_number_that_can_be_listened_at(port, capsys):
    parser = argparse.ArgumentParser()
    commands.add_to(parser.add_subparsers())
    with pytest.raises(SystemExit):
        parser.parse_args(["fleet", "-m", "model", f"--port={port}"])
    assert f"{port!r} is no port" in capsys.readouterr().err
