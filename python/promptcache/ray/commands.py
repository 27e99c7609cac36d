"""python -m promptcache fleet: several replicas behind one address, until Ctrl-C."""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import socket
from pathlib import Path
from typing import Any, Container, Dict, List

from ..errors import InvalidArgument, Unsupported

__all__ = ["SWIFT", "add_to", "free_ports", "own_ports"]

# What a request costs on its way is measured with these (docs/SCALE.md): HAProxy in the place of
# Ray's proxy in Python, and one event loop in each actor in the place of three. Ray reads them when
# it is imported, in each of its processes. HAProxy has one thread, which forwards more than replicas
# on a CPU answer: with its four, it left a client's close unread behind one whole answer in five
# (2.8.25), and that answer was computed to its end.
SWIFT = {
    "RAY_SERVE_ENABLE_HA_PROXY": "1",
    "RAY_SERVE_HAPROXY_NBTHREAD": "1",
    "RAY_SERVE_RUN_USER_CODE_IN_SEPARATE_THREAD": "0",
    "RAY_SERVE_RUN_ROUTER_IN_SEPARATE_LOOP": "0",
    "RAY_SERVE_REQUEST_PATH_LOG_BUFFER_SIZE": "1000",
}
# Nobody is given one of these unasked before it is bound: systems give ports from 32768 (Linux) or
# 49152 on to whoever connects or asks for any, Ray's workers take 10002 to 19999, and its replicas
# 30000 to 31000 and 40000 to 41000.
_FIRST_PORT, _LAST_PORT = 20000, 29999


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "fleet", help="several replicas of the server behind one address, on Ray Serve",
        description="Serves a model by several replicas, on this machine or on a cluster of Ray. "
        "Options behind -- go to `promptcache serve`.",
    )  # fmt: skip
    parser.add_argument("-m", "--model", required=True, metavar="PATH",
                        help="a GGUF file or a folder, at the same place on each node")  # fmt: skip
    parser.add_argument("--replicas", type=_count, default=3, metavar="N", help="(3)")
    parser.add_argument("--max-replicas", type=_count, metavar="N",
                        help="as many under load; default: no more than --replicas")  # fmt: skip
    parser.add_argument("--fronts", type=_count, default=1, metavar="N",
                        help="processes that take requests and route them (1)")  # fmt: skip
    parser.add_argument("--cpus", type=_count, metavar="N",
                        help="of each replica; default: this machine's, divided among them")  # fmt: skip
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="(127.0.0.1)")
    parser.add_argument("--port", type=_port, default=8000, metavar="N", help="(8000)")
    parser.add_argument("--cache-dir", metavar="DIR",
                        help="of the stores, DIR/NODE for each node (~/.cache/promptcache-fleet)")  # fmt: skip
    parser.add_argument("--shared", action="store_true", help="DIR is one store, which all nodes see")
    parser.add_argument("--no-exchange", dest="exchange", action="store_false",
                        help="fetch no modules from the stores of other nodes")  # fmt: skip
    parser.add_argument("--queue", type=_count, default=256, metavar="N",
                        help="requests that wait for a replica; others get 429 (256)")  # fmt: skip
    parser.add_argument("--address", metavar="ADDRESS",
                        help="a running cluster of Ray; default: one of this command's own")  # fmt: skip
    parser.add_argument("options", nargs="*", metavar="-- OPTION", help="of `promptcache serve`")
    parser.set_defaults(run=_fleet)


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def _port(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port, a number from 1 to 65535")
    return int(text)


def _fleet(arguments: argparse.Namespace) -> int:
    if importlib.util.find_spec("ray") is None or importlib.util.find_spec("aiohttp") is None:
        raise Unsupported("a fleet needs Ray Serve: pip install 'promptcache[ray]'")
    if not Path(arguments.model).exists():
        raise InvalidArgument(f"--model {arguments.model}: there is no such file or folder")
    for name, value in [*SWIFT.items(), *own_ports({arguments.port}).items()]:
        os.environ.setdefault(name, value)
    _serve(arguments)
    return 0


def free_ports(n: int, but: Container[int] = ()) -> List[int]:
    """n different ports that are free on all addresses of this machine. OSError: there are no more."""
    held: List[socket.socket] = []
    try:
        for port in random.SystemRandom().sample(range(_FIRST_PORT, _LAST_PORT + 1), _LAST_PORT + 1 - _FIRST_PORT):
            if len(held) == n:
                break
            one = socket.socket()
            try:
                one.bind(("", port))
            except OSError:
                one.close()
                continue
            held.append(one)
            if port in but:
                held.pop().close()
        if len(held) < n:
            raise OSError(f"this machine has no {n} free ports from {_FIRST_PORT} to {_LAST_PORT}")
        return [int(one.getsockname()[1]) for one in held]
    finally:
        for one in held:
            one.close()


def own_ports(but: Container[int] = ()) -> Dict[str, str]:
    """What Ray Serve binds beside a fleet's address: HAProxy's pages, and the proxy in its place while
    it has no replica. Its defaults are one number each, which a second fleet, or another program (8500
    is Consul's), has already."""
    names = ("RAY_SERVE_HAPROXY_METRICS_PORT", "RAY_SERVE_HAPROXY_STATS_PORT",
             "RAY_SERVE_FALLBACK_PROXY_HTTP_PORT", "RAY_SERVE_FALLBACK_PROXY_GRPC_PORT")  # fmt: skip
    return {name: str(port) for name, port in zip(names, free_ports(len(names), but))}


def _serve(arguments: argparse.Namespace) -> None:
    from .child import command
    from .fleet import FleetOptions
    from .starting import serve_until_stopped

    command()  # here as on each node: what is missing is said before anything starts
    own = os.cpu_count() or 1
    cpus = arguments.cpus or max(1, own // arguments.replicas)
    most = max(arguments.replicas, arguments.max_replicas or 0)
    given = {"directory": arguments.cache_dir} if arguments.cache_dir else {}
    options = FleetOptions(
        model=arguments.model, replicas=arguments.replicas, max_replicas=arguments.max_replicas,
        fronts=arguments.fronts, cpus=cpus, shared=arguments.shared, exchange=arguments.exchange,
        queue=arguments.queue, options=arguments.options, **given,
    )  # fmt: skip
    # Ray counts processors to place actors: three replicas on two of them are asked for here.
    serve_until_stopped(options, arguments.host, arguments.port, arguments.address, max(own, most * cpus))
