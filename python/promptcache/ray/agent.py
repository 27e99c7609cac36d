"""A store's agent: says what its store has of a request, and sends it through Ray's object store.

An actor beside each replica, which ends with it. It asks the replica's server, over its socket, what
a prompt would use, and reads the store's files itself; to answer it does not wait for the replica,
which may be full: that is when others ask.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import tempfile
import time
from typing import Iterator, List, NamedTuple, Optional, Set

from ..errors import IOFailure
from ..store import Store
from .asked import Headers
from .explained import Explained, explained

__all__ = ["CHUNK", "Agent", "Look"]

# Four of them are on the way at once: 16 MiB for each transfer, on either side.
CHUNK = 4 << 20
_PATIENCE = 10.0  # seconds: of a server whose processors are all busy


class Look(NamedTuple):
    added: List[str]
    removed: List[str]
    seconds: float  # it took


class Agent:
    def __init__(self, store: str, server: str) -> None:
        self._store = Store(store)
        self._folder = os.path.dirname(store)
        self._server = server
        self._told: Set[str] = set()

    def look(self, whole: bool) -> Look:
        """What is there and was not, and the other way, since the look before; or all of it."""
        began = time.monotonic()
        keys = {file["key"] for file in self._store.describe()["files"]}
        before = set() if whole else self._told
        self._told = keys
        return Look(sorted(keys - before), sorted(before - keys), time.monotonic() - began)

    def offer(self, target: str, headers: Headers, body: bytes) -> Optional[Explained]:
        """What this store has of a prompt; None where the server does not say."""
        connection = _Connection(self._server)
        try:
            named = {n.decode("latin-1"): v.decode("latin-1") for n, v in headers}
            connection.request("POST", target, body, named)
            answer = connection.getresponse()
            report = answer.read()
        except OSError as error:
            raise IOFailure(f"the server at {self._server} does not answer: {error}") from error
        finally:
            connection.close()
        return explained(json.loads(report)) if answer.status == 200 else None

    def send(self, keys: List[str]) -> Iterator[bytes]:
        """A file for another store's import, in pieces."""
        with tempfile.TemporaryDirectory(prefix=".outgoing.", dir=self._folder) as folder:
            path = os.path.join(folder, "modules")
            self._store.export(path, keys)
            with open(path, "rb") as file:
                while chunk := file.read(CHUNK):
                    yield chunk


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(_PATIENCE)
        self.sock.connect(self._path)
