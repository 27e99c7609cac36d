"""Ports for the parts of a fleet that are told a number and bind it a moment later."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack
from typing import Dict, List

from ..errors import InvalidArgument

__all__ = ["check_free", "free_ports", "own_ports"]

# Nobody is given one of these unasked before it is bound: systems give ports from 32768 (Linux) or
# 49152 on to whoever connects or asks for any, Ray's workers take 10002 to 19999, and its replicas
# 30000 to 31000 and 40000 to 41000.
_FIRST, _LAST = 20000, 29999


def free_ports(n: int) -> List[int]:
    """n different ports that are free on all addresses of this machine. OSError: there are no more."""
    with ExitStack() as held:
        found: List[int] = []
        for port in random.SystemRandom().sample(range(_FIRST, _LAST + 1), _LAST + 1 - _FIRST):
            if len(found) == n:
                break
            one = held.enter_context(socket.socket())
            try:
                one.bind(("", port))
            except OSError:
                continue
            found.append(port)
    if len(found) < n:
        raise OSError(f"this machine has no {n} free ports from {_FIRST} to {_LAST}")
    return found


def own_ports() -> Dict[str, str]:
    """What Ray Serve binds beside a fleet's address: HAProxy's pages, and the proxy in its place while
    it has no replica. Its defaults are one number each, which a second fleet, or another program (8500
    is Consul's), has already."""
    names = ("RAY_SERVE_HAPROXY_METRICS_PORT", "RAY_SERVE_HAPROXY_STATS_PORT",
             "RAY_SERVE_FALLBACK_PROXY_HTTP_PORT", "RAY_SERVE_FALLBACK_PROXY_GRPC_PORT")  # fmt: skip
    return {name: str(port) for name, port in zip(names, free_ports(len(names)))}


def check_free(host: str, port: int) -> None:
    """InvalidArgument: this machine can't listen there, and why."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        socket.create_server(address[:2], family=family).close()
    except OSError as error:
        raise InvalidArgument(f"--host {host} --port {port}: can't listen there: {error.strerror}") from None
