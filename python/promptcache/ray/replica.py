"""A replica of the fleet: an actor of Ray Serve with a server of its own, and a store of its node.

Requests are passed to the server and its bytes back, unchanged; a caller that leaves closes the
connection, which ends the answer. What of a request's beginning another store has and this one has
not is fetched first, where that is quicker than to compute it.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any, AsyncIterator, Dict, List, Optional, Union

from ray import serve

from .asked import Asked, Begun
from .child import Child
from .memory import Memory
from .passing import Passing, passed
from .stores import store_of

__all__ = ["Engine"]

# 8 KiB of a report through Ray's controller, which sends it on to each router.
_REPORTED = 1024


class Engine:
    """model, options: of `promptcache serve`; directory: of the stores, one for each node, or
    `shared`, the one of all."""

    def __init__(
        self, model: str, options: List[str], directory: str, shared: bool, exchange: bool
    ) -> None:
        self._id = serve.get_replica_context().replica_id.unique_id
        self._store = store_of(Path(directory), shared)
        self._store.path.mkdir(parents=True, exist_ok=True)
        self._child = Child(["-m", model, "--cache-dir", str(self._store.path), *options])
        self._memory = Memory(self._store.path)
        self._number = 0  # of reports
        self._passing: Optional[Passing] = None
        self._child.wait_until_it_listens()

    async def __call__(self, asked: Asked) -> AsyncIterator[Union[Begun, bytes]]:
        """A Begun, and then the rest of the answer's bytes as they come."""
        async with self._open().ask(asked) as answer:
            content = answer.content
            first = await content.readany()
            headers = passed(list(answer.raw_headers))
            yield Begun(answer.status, headers, first, content.at_eof(), self._id)
            while chunk := await content.readany():
                yield chunk
        if asked.beginnings and answer.status == 200:
            self._memory.note(asked.beginnings)

    async def text(self, asked: Asked) -> str:
        """The body of a short answer; "" where there is none."""
        async with self._open().ask(asked) as answer:
            return await answer.text() if answer.status == 200 else ""

    def _open(self) -> Passing:
        """In the event loop of the requests, which the constructor is not in."""
        if self._passing is None:
            self._passing = Passing(self._child.socket)
        return self._passing

    def record_replica_metadata(self) -> Dict[str, str]:
        return {"store": self._store.name}

    def record_routing_stats(self) -> Dict[str, Any]:
        """For routers: what this store has. A report that says the same has the same number."""
        digests = b"".join(self._memory.newest(_REPORTED))
        return {"number": hash(digests), "digests": digests}

    def check_health(self) -> None:
        if not self._child.is_running:
            raise RuntimeError(f"the server of this replica ended: {self._child.last_words()}")

    async def __del__(self) -> None:
        """Ray calls it when a replica is retired, after its last answer."""
        if self._passing:
            with contextlib.suppress(Exception):
                await self._passing.close()
        await asyncio.to_thread(self._child.close)
