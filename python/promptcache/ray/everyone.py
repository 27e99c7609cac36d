"""Requests that concern more than one replica: metrics, schemas, and responses that one remembers."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from typing import Any, List, Mapping, Optional

from ray.exceptions import RayError
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle

from . import routed
from .asked import Asked, Begun
from .pages import merged
from .schemas import PATH as SCHEMAS
from .schemas import quietly

__all__ = ["Everyone"]

RESPONSES = "/v1/responses"
_MOST_OWNERS = 1 << 16  # a server remembers 256 responses
# Of a replica that is asked for a page: it may be about to be found dead.
_PATIENCE = 5.0
_LABELS = ("replica", "store")


class Everyone:
    """The fleet's replicas, as the front knows them. They are asked one after the other: routers of
    Ray Serve (2.60) know a call by the request that it is made for, and lose all but one of those
    that a request makes at once."""

    def __init__(self, engines: DeploymentHandle) -> None:
        self._engines = engines
        self._owners: "OrderedDict[str, str]" = OrderedDict()

    async def metrics(self) -> str:
        pages = [page for replica in self._replicas() if (page := await self._page(replica))]
        labelled = [({label: page[label] for label in _LABELS}, page["page"]) for page in pages]
        return merged([({}, _routed(len(pages))), *labelled])

    async def _page(self, replica: str) -> Optional[Mapping[str, str]]:
        asked = Asked("GET", "/metrics", [], b"", only=replica)
        answer = self._engines.metrics.remote(asked)
        try:
            page: Mapping[str, str] = await asyncio.wait_for(answer.__anext__(), _PATIENCE)
        except (RayError, RayServeException, asyncio.TimeoutError):
            answer.cancel()
            return None
        return page

    async def prepare(self, asked: Asked, path: str, body: Any) -> None:
        """What must be before this request is sent to its replica."""
        if path.startswith(SCHEMAS) and asked.method in ("POST", "DELETE"):
            await self._tell_all(asked)
        elif path.startswith(RESPONSES) and (name := _response_of(asked, path, body)):
            asked.only = self._owners.get(name) or await self._find(asked, name)

    def note(self, path: str, begun: Begun) -> None:
        """Who remembers a response that was made."""
        if path == RESPONSES and begun.status == 200 and (name := _made(begun.first)):
            self._owners[name] = begun.replica
            while len(self._owners) > _MOST_OWNERS:
                self._owners.popitem(last=False)

    async def _tell_all(self, asked: Asked) -> None:
        """Each of them but the one that answers; what is wrong with it, that one says."""
        first, *others = self._replicas() or [""]
        asked.only = first or None
        told = quietly(asked) if asked.method == "POST" else asked
        for replica in others:
            await self._status(told, replica)

    async def _find(self, asked: Asked, name: str) -> Optional[str]:
        """None where no replica remembers it: whoever is asked says so."""
        question = Asked("GET", f"{RESPONSES}/{name}", asked.headers, b"")
        for replica in self._replicas():
            if await self._status(question, replica) == 200:
                return replica
        return None

    async def _status(self, asked: Asked, replica: str) -> int:
        one = Asked(asked.method, asked.target, asked.headers, asked.body, only=replica)
        answer = self._engines.remote(one)
        try:
            begun: Begun = await asyncio.wait_for(answer.__anext__(), _PATIENCE)
        except (RayError, RayServeException, asyncio.TimeoutError):
            answer.cancel()
            return 0
        return begun.status

    def _replicas(self) -> List[str]:
        return routed.replicas.get(self._engines.deployment_name, [])


def _response_of(asked: Asked, path: str, body: Any) -> Optional[str]:
    """The response that this request names, which one replica remembers."""
    if path != RESPONSES:
        return path[len(RESPONSES) + 1 :]
    named = body.get("previous_response_id") if isinstance(body, Mapping) else None
    return named if isinstance(named, str) else None


def _made(first: bytes) -> Optional[str]:
    """The id in the first bytes of a response, whole or streamed."""
    text = first.decode("utf-8", "replace")
    at = text.find('"resp_')
    return json.loads(text[at : text.index('"', at + 1) + 1]) if at >= 0 else None


def _routed(n_replicas: int) -> str:
    lines = [
        "# HELP promptcache_fleet_replicas Replicas that answered for this page.",
        "# TYPE promptcache_fleet_replicas gauge",
        f"promptcache_fleet_replicas {n_replicas}",
        "# HELP promptcache_fleet_routed_total Requests by whether their beginning was known: new,"
        " held by the replica that got it, or elsewhere, since those that have it were busy.",
        "# TYPE promptcache_fleet_routed_total counter",
    ]
    for outcome in routed.OUTCOMES:
        lines.append(
            f'promptcache_fleet_routed_total{{outcome="{outcome}"}} {routed.counted[outcome]}'
        )
    return "\n".join(lines) + "\n"
