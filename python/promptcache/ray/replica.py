"""A replica of the fleet: an actor of Ray Serve with a server of its own, and a store of its node.

Requests are passed to the server and its bytes back, unchanged; a caller that leaves closes the
connection, which ends the answer. What of a request's beginning another store has and this one has
not is fetched first, where that is quicker than to compute it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any, AsyncIterator, Dict, List, Optional, Union

from ray import serve

from .asked import Asked, Begun
from .child import Child
from .exchange import Exchange
from .memory import Memory
from .passing import Passing, passed
from .schemas import Schemas
from .stores import store_of

__all__ = ["Engine"]

# 8 KiB of a report through Ray's controller, which sends it on to each router.
_REPORTED = 1024


class Engine:
    """model, options: of `promptcache serve`; directory: of the stores, one for each node, or
    `shared`, the one of all; exchange: fetch modules from other stores?"""

    async def __init__(  # type: ignore[misc]  # Ray Serve awaits it
        self, model: str, options: List[str], directory: str, shared: bool, exchange: bool
    ) -> None:
        self._id = serve.get_replica_context().replica_id.unique_id
        self._store = store_of(Path(directory), shared)
        self._store.path.mkdir(parents=True, exist_ok=True)
        self._memory = Memory(self._store.path)
        served = ["-m", model, "--cache-dir", str(self._store.path), "--quiet", *options]
        self._child = Child(served, _end)
        await asyncio.to_thread(self._child.wait_until_it_listens)
        self._passing = Passing(self._child.socket)
        self._schemas = Schemas(self._passing)
        await self._schemas.give_to_server()
        self._exchange: Optional[Exchange] = None
        if exchange and not shared:
            self._exchange = Exchange(self._store, self._id, self._passing, self._child.socket)

    async def __call__(self, asked: Asked) -> AsyncIterator[Union[Begun, bytes]]:
        """A Begun, and then the rest of the answer's bytes as they come."""
        if self._exchange and asked.beginnings:
            await self._exchange.fetch_for(asked, self._memory.has(asked.beginnings))
        async with self._passing.ask(asked) as answer:
            first = await answer.content.readany()
            headers = passed(list(answer.raw_headers))
            is_whole = answer.content.at_eof()
            yield Begun(answer.status, headers, first, is_whole, self._id)
            while chunk := await answer.content.readany():
                yield chunk
        if answer.status == 200:
            self._memory.note(asked.beginnings)
            await self._schemas.note(asked)

    async def metrics(self, asked: Asked) -> AsyncIterator[Dict[str, str]]:
        """One: the server's page, and this replica's own counters. asked: for routers, which replica
        it is."""
        exchanged = self._exchange.counted if self._exchange else {}
        own = "".join(
            f'promptcache_fleet_exchange_total{{outcome="{name}"}} {n}\n'
            for name, n in sorted(exchanged.items())
        )
        page = await self._passing.text("/metrics")
        yield {"replica": self._id, "store": self._store.name, "page": page + own}

    def record_replica_metadata(self) -> Dict[str, str]:
        return {"store": self._store.name}

    def record_routing_stats(self) -> Dict[str, Any]:
        """For routers: what this store has. A report that says the same has the same number."""
        digests = b"".join(self._memory.newest(_REPORTED))
        return {"number": hash(digests), "digests": digests}

    async def __del__(self) -> None:
        """Ray awaits it when the replica is retired, after its last answer."""
        if self._exchange:
            self._exchange.close()
        await self._passing.close()
        await asyncio.to_thread(self._child.close)


def _end(last_words: str) -> None:
    """Without its server a replica is none: it ends at once, so that no router sends it more, and
    Ray Serve starts another."""
    print(f"promptcache: the server of this replica ended: {last_words}", file=sys.stderr, flush=True)
    os._exit(1)
