"""python -m promptcache fleet: several replicas behind one address, until Ctrl-C."""

from __future__ import annotations

import argparse
import http.client
import importlib.util
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from ..errors import InvalidArgument, Unsupported
from .ports import check_free, own_ports

__all__ = ["SWIFT", "add_to"]

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
_LOOK_SECONDS = 0.1


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
    if not arguments.address:  # a cluster listens on machines of its own
        check_free(arguments.host, arguments.port)
    for name, value in [*SWIFT.items(), *own_ports().items()]:
        os.environ.setdefault(name, value)
    _serve(arguments)
    return 0


def _serve(arguments: argparse.Namespace) -> None:
    import ray
    from ray import serve

    from .child import command
    from .fleet import FleetOptions, application

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
    if arguments.address:
        ray.init(address=arguments.address, log_to_driver=False)
    else:
        # Ray counts processors to place actors: three replicas on two of them are asked for here.
        ray.init(address="local", num_cpus=max(own, most * cpus), include_dashboard=False,
                 log_to_driver=False)  # fmt: skip
    for one in (signal.SIGINT, signal.SIGTERM):  # Ray has taken the second for itself
        signal.signal(one, _stop)
    try:
        serve.start(http_options={"host": arguments.host, "port": arguments.port})
        serve.run(application(options))
        _wait_until_it_answers(arguments.host, arguments.port)
        print(f"listening on http://{arguments.host}:{arguments.port}/ with "
              f"{arguments.replicas} replicas", flush=True)  # fmt: skip
        threading.Event().wait()
    except KeyboardInterrupt:
        print("stopping", file=sys.stderr)
    finally:
        # In a cluster of its own all ends with Ray; each server keeps what it has computed.
        if arguments.address:
            serve.shutdown()
        ray.shutdown()


def _stop(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def _wait_until_it_answers(host: str, port: int) -> None:
    """The proxy learns of the replicas a moment after they are ready."""
    here = "127.0.0.1" if host in ("0.0.0.0", "::", "localhost") else host
    while True:
        connection = http.client.HTTPConnection(here, port)
        try:
            connection.request("GET", "/health", headers={"Host": f"localhost:{port}"})
            if connection.getresponse().status == 200:
                return
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
        time.sleep(_LOOK_SECONDS)
