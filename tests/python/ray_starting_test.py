"""A fleet that can't start says why in a sentence, before Ray starts where that is known then."""

import os
import socket
import subprocess
import sys

import pytest

from ray_support import PATIENCE, ROOT, free_ports, model_in  # which skips where no Ray is
from promptcache.errors import InvalidArgument
from promptcache.ray.starting import free_address, reason_of


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return model_in(tmp_path_factory.mktemp("tiny"))


def fleet(tmp_path, *words):
    """What the command says behind `promptcache: `, which is all that it says of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "promptcache", "fleet", "--replicas", "1", "--cache-dir", tmp_path, *words],
        capture_output=True, text=True, timeout=3 * PATIENCE, env={**os.environ, "RAY_AUTH_MODE": "disabled"},
    )  # fmt: skip
    assert done.returncode == 1 and done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr.partition("promptcache: ")[2].strip()


def test_a_model_that_is_none(tmp_path):
    said = fleet(tmp_path, "--port", str(free_ports(1)[0]), "-m", str(ROOT / "README.md"))
    assert said.startswith("the fleet did not start: ") and "README.md" in said, said


def test_an_option_that_the_server_does_not_have(tmp_path, model):
    said = fleet(tmp_path, "--port", str(free_ports(1)[0]), "-m", model, "--", "--no-such-option")
    assert said.startswith("the fleet did not start: ") and "--no-such-option" in said, said


def test_more_and_fewer(tmp_path, model):
    said = fleet(tmp_path, "-m", model, "--replicas", "3", "--max-replicas", "2")
    assert said == "max_replicas is 2, and replicas, the fewest, are 3"


def test_an_address_of_no_cluster(tmp_path, model):
    said = fleet(tmp_path, "-m", model, "--address", "nonsense")
    assert said.startswith("--address nonsense: "), said


def test_a_taken_port(tmp_path, model):
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
        said = fleet(tmp_path, "-m", model, "--port", str(port))
    assert said.startswith(f"--host 127.0.0.1 --port {port}: can't listen there: Address already in use")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "::", "203.0.113.77", "a..b", "x" * 70])
def test_where_nothing_can_listen(host):
    with socket.create_server(("0.0.0.0", 0)) as one:
        with pytest.raises(InvalidArgument, match=f"--port {one.getsockname()[1]}: can't listen there: ."):
            free_address(host, one.getsockname()[1])


def test_an_address_is_one():
    (port,) = free_ports(1)
    for host, address in [("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1"), ("::", "0.0.0.0")]:
        assert free_address(host, port) == address


def test_reasons():
    trace = "A replica failed. Error:\nTraceback (most recent call last):\n  File \"x.py\", line 1, in f\n    raise it\n"
    assert reason_of(trace + "a.b.InternalError: it: said\nmore of it\n") == "it: said\nmore of it"
    assert reason_of(trace + "a.b.One: 1\n\nDuring it:\n  File \"y\"\n\x1b[36ma.Two\x1b[39m: 2") == "2"
    assert reason_of("only\nwords") == "words"
