"""What a request needs and another store has is fetched before it is computed.

A replica asks the agent of the store that has more of the beginning which files it would use, takes
those that its own store lacks through Ray's object store, and imports them: all of them, verified,
or none. Where what was measured says that computing is quicker, or where anything fails or takes too
long, nothing is fetched, and the answer is the same.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections import Counter, defaultdict
from typing import Any, DefaultDict, Dict, List, Optional

import ray
from ray import serve
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ..errors import Error
from ..store import Store
from .agent import Agent, Look
from .asked import Asked, Headers
from .directory import Report
from .explained import Explained, explained, route_of
from .passing import Passing
from .rates import Rates
from .stores import NodeStore

__all__ = ["DIRECTORY", "Exchange"]

DIRECTORY = "directory"  # the deployment's actor of that name
# Of text, and of a module of PML whose text is not seen: what routers count, in tokens.
_BYTES_A_TOKEN = 4
_TOKENS_OF_MODULES = 1000
# Between two looks at the store; a store of many files is looked at less often, so that looking
# takes a hundredth of the time at most.
_LOOK_SECONDS = 2.0
_LOOK_SHARE = 100
_KEYS = (b"authorization", b"x-api-key")
# Ray holds back a sender that is so many pieces ahead.
_AHEAD = 4


class Exchange:
    """Of one replica, in its event loop."""

    def __init__(self, store: NodeStore, replica: str, passing: Passing, server: str) -> None:
        self._store = store
        self._replica = replica
        self._passing = passing
        self._files = Store(store.path)
        self._rates = Rates()
        self._one = asyncio.Lock()  # what is fetched for one request serves the next
        self.counted: "Counter[str]" = Counter()
        here = ray.get_runtime_context().get_node_id()
        self._agent = ray.remote(Agent).options(
            num_cpus=0, max_concurrency=4, max_restarts=-1,
            scheduling_strategy=NodeAffinitySchedulingStrategy(here, soft=False),
        ).remote(str(store.path), server)  # fmt: skip
        self._reporting = asyncio.create_task(self._report())

    def close(self) -> None:
        self._reporting.cancel()
        ray.kill(self._agent)

    async def _report(self) -> None:
        """To the directory, as long as the replica lives; to a new directory all of it."""
        whole = True
        while True:
            looked = 0.0
            try:
                look: Look = await self._agent.look.remote(whole)
                looked = look.seconds
                report = Report(self._store.name, self._replica, whole, look.added, look.removed)
                directory = serve.get_deployment_actor(DIRECTORY)
                whole = not await directory.report.remote(report, [self._agent])
            except (RayError, ValueError, Error):  # gone; the next look finds the one after it
                whole = True
            await asyncio.sleep(max(_LOOK_SECONDS, _LOOK_SHARE * looked))

    async def fetch_for(self, asked: Asked, own: int) -> None:
        """own: bytes of the request's beginning that this store has, of what routers count."""
        path = asked.target.split("?")[0]
        route = route_of(path)
        wanted = max(asked.holders.values(), default=0)
        is_pml = path.startswith("/pml/")
        if route is None or (own >= wanted and not is_pml):
            return
        try:
            if self._rates.tokens_a_second is None:
                await self._measure()
            tokens = max((wanted - own) // _BYTES_A_TOKEN, _TOKENS_OF_MODULES if is_pml else 0)
            await asyncio.wait_for(self._fetch(asked, route), self._rates.patience(tokens))
        except asyncio.TimeoutError:
            self.counted["late"] += 1
        except Exception:  # whatever it is: the answer needs nothing of it
            self.counted["failed"] += 1

    async def _fetch(self, asked: Asked, route: str) -> None:
        async with self._one:
            own = await self._own(route, asked)
            if own is None or own.computed_tokens <= 1:
                return
            for replica, agent in (await self._agents(asked, own)).items():
                offer = await self._offer(replica, agent, route, asked)
                if offer and await self._take(agent, own, offer):
                    return

    async def _own(self, route: str, asked: Asked) -> Optional[Explained]:
        headers = [*_keys(asked.headers), (b"Content-Type", b"application/json")]
        question = Asked("POST", route, headers, asked.body)
        async with self._passing.ask(question) as answer:
            return explained(json.loads(await answer.read())) if answer.status == 200 else None

    async def _agents(self, asked: Asked, own: Explained) -> Dict[str, Any]:
        directory = serve.get_deployment_actor(DIRECTORY)
        stores = [name for name in asked.holders if name != self._store.name]
        if not stores and own.missing_modules:
            has: Dict[str, int] = await directory.who.remote(own.missing_modules)
            has.pop(self._store.name, None)
            stores = sorted(has, key=lambda name: -has[name])[:1]
        agents: Dict[str, Any] = await directory.agents.remote(stores) if stores else {}
        return agents

    async def _offer(
        self, replica: str, agent: Any, route: str, asked: Asked
    ) -> Optional[Explained]:
        try:
            offer: Optional[Explained] = await agent.offer.remote(
                route, _keys(asked.headers), asked.body
            )
        except (RayError, Error):
            await serve.get_deployment_actor(DIRECTORY).drop.remote(replica)
            return None
        return offer

    async def _take(self, agent: Any, own: Explained, offer: Explained) -> bool:
        """True where there is no more to be had."""
        missing = {key: n for key, n in offer.there.items() if key not in own.there}
        n_bytes = sum(missing.values())
        await self._measure()
        if not missing or not self._rates.is_worth(
            n_bytes, own.computed_tokens - offer.computed_tokens
        ):
            self.counted["computed"] += 1
            return True
        began = time.monotonic()
        await self._import(agent, list(missing))
        self._rates.note_fetch(n_bytes, time.monotonic() - began)
        self.counted["fetched"] += 1
        self.counted["bytes"] += n_bytes
        return True

    async def _import(self, agent: Any, keys: List[str]) -> None:
        folder = tempfile.TemporaryDirectory(prefix=".incoming.", dir=self._store.path.parent)
        with folder as name:
            path = os.path.join(name, "modules")
            pieces = agent.send.options(
                num_returns="streaming", _generator_backpressure_num_objects=_AHEAD
            ).remote(keys)
            with open(path, "wb") as file:
                async for piece in pieces:
                    await asyncio.to_thread(file.write, await piece)
            await asyncio.to_thread(self._files.import_from, path)

    async def _measure(self) -> None:
        """How fast this replica's server computed prompts until now."""
        seen: DefaultDict[str, float] = defaultdict(float)
        for line in (await self._passing.text("/metrics")).splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                seen[name.partition("{")[0]] += float(value)
        tokens = seen["promptcache_prompt_tokens_total"] - seen["promptcache_cached_tokens_total"]
        self._rates.note_computed(tokens, seen["promptcache_first_token_seconds_sum"])


def _keys(headers: Headers) -> Headers:
    """Who asks: what is one's own is found by no other."""
    return [(name, value) for name, value in headers if name.lower() in _KEYS]
