"""A fleet from its start until Ctrl-C; or, in a sentence, why it did not start."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import sys
import threading
import time
from typing import Any, Optional

import ray
from ray import serve

from ..errors import InternalError, InvalidArgument
from .fleet import FleetOptions, application

__all__ = ["free_address", "reason_of", "serve_until_stopped"]

_LOOK_SECONDS = 0.1
# Where a traceback says what was raised: its other lines are indented.
_RAISED = re.compile(r"^[A-Za-z_][\w.]*: (?=\S)", re.MULTILINE)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def serve_until_stopped(options: FleetOptions, host: str, port: int, address: Optional[str], n_cpus: int) -> None:
    """address: of a cluster of Ray that runs; None: one of its own, with n_cpus. A cluster listens on
    machines of its own."""
    if not address:
        host = free_address(host, port)
    try:
        _join(address, n_cpus)
    except (ValueError, RuntimeError, ConnectionError) as error:
        raise InvalidArgument(f"--address {address}: {reason_of(str(error))}") from None
    for one in (signal.SIGINT, signal.SIGTERM):  # Ray has taken the second for itself
        signal.signal(one, _stop)
    try:
        _start(options, host, port)
        print(f"listening on http://{f'[{host}]' if ':' in host else host}:{port}/ with "
              f"{options.replicas} replicas", flush=True)  # fmt: skip
        threading.Event().wait()
    except KeyboardInterrupt:
        print("stopping", file=sys.stderr)
    finally:
        # In a cluster of its own all ends with Ray; each server keeps what it has computed.
        if address:
            serve.shutdown()
        ray.shutdown()


def free_address(host: str, port: int) -> str:
    """The one address of a host, an IPv4 one if there is any, at which this machine can listen.
    InvalidArgument: it can't, and why."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, _, _, _, address = min(found, key=lambda one: one[0] != socket.AF_INET)
        # HAProxy listens at all addresses of IPv4 where Ray is told all of IPv6.
        everywhere = address[0] in ("0.0.0.0", "::")
        family, name = (socket.AF_INET, "0.0.0.0") if everywhere else (family, str(address[0]))
        socket.create_server((name, port), family=family).close()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidArgument(f"--host {host} --port {port}: can't listen there: {reason}") from None
    return name


def _join(address: Optional[str], n_cpus: int) -> None:
    if address:
        ray.init(address=address, log_to_driver=False)
    else:
        ray.init(address="local", num_cpus=n_cpus, include_dashboard=False, log_to_driver=False)


def _start(options: FleetOptions, host: str, port: int) -> None:
    try:
        serve.start(http_options={"host": host, "port": port})
        serve.run(application(options))
    except (ray.exceptions.RayError, RuntimeError) as error:
        raise InternalError(f"the fleet did not start: {_failure() or reason_of(str(error))}") from None
    _wait_until_it_answers(host, port)


def _failure() -> Optional[str]:
    """Why a replica does not start, which Ray Serve says nowhere else: engines first, since fronts
    want them."""
    try:
        deployments = [one for app in serve.status().applications.values() for one in app.deployments.items()]
    except (ray.exceptions.RayError, RuntimeError):
        return None  # it is Serve itself that did not start
    said = [status.message for _, status in sorted(deployments) if _RAISED.search(status.message)]
    return reason_of(said[0]) if said else None


def reason_of(message: str) -> str:
    """The last error that a text with tracebacks raised, without its class; or the text's last line."""
    text = _COLOURS.sub("", message).strip()
    raised = list(_RAISED.finditer(text))
    return text[raised[-1].end() :] if raised else text.rpartition("\n")[2]


def _stop(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def _wait_until_it_answers(host: str, port: int) -> None:
    """The proxy learns of the replicas a moment after they are ready."""
    here = "127.0.0.1" if host in ("0.0.0.0", "::") else host
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
