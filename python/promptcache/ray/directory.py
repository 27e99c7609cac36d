"""Which store has which modules, and who sends them: an actor, one for each fleet.

Soft state: agents report what their stores have, and whoever finds an empty directory is told so and
reports all of it again. Nothing that is wrong here changes an answer. It also keeps the schemas of
PML that clients gave to the fleet, for replicas that start later.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any, Dict, List, NamedTuple, Sequence, Set

from .asked import Asked

__all__ = ["EXPIRES_SECONDS", "Directory", "Report"]

# Of a store that nobody reports of any more: its node is gone.
EXPIRES_SECONDS = 60.0
_MOST_SCHEMAS = 64  # as a server has them


class Report(NamedTuple):
    """What an agent says of its store: all of it, or what changed since it was last heard."""

    store: str
    replica: str
    is_whole: bool
    added: List[str]
    removed: List[str]


class _Store:
    def __init__(self) -> None:
        self.keys: Set[str] = set()
        self.agents: Dict[str, Any] = {}  # by their replica
        self.heard = 0.0


class Directory:
    def __init__(self) -> None:
        self._stores: Dict[str, _Store] = {}
        self._schemas: "OrderedDict[str, Asked]" = OrderedDict()

    def report(self, report: Report, agent: Sequence[Any]) -> bool:
        """agent: its handle, in a list, as Ray passes handles on. False: report all of it."""
        self._expire()
        store = self._stores.setdefault(report.store, _Store())
        store.heard = time.monotonic()
        is_known = report.replica in store.agents
        store.agents[report.replica] = agent[0]
        if report.is_whole:
            store.keys = set(report.added)
        else:
            store.keys.difference_update(report.removed)
            store.keys.update(report.added)
        return is_known or report.is_whole

    def _expire(self) -> None:
        oldest = time.monotonic() - EXPIRES_SECONDS
        self._stores = {name: s for name, s in self._stores.items() if s.heard > oldest}

    def drop(self, replica: str) -> None:
        """An agent that did not answer, until it reports again."""
        for store in self._stores.values():
            store.agents.pop(replica, None)

    def agents(self, stores: Sequence[str]) -> Dict[str, Any]:
        """Of these stores, by the replicas that they belong to."""
        found: Dict[str, Any] = {}
        for name in stores:
            found.update(self._stores[name].agents if name in self._stores else {})
        return found

    def who(self, keys: Sequence[str]) -> Dict[str, int]:
        """How many of these modules each store has, where it has any."""
        counted = {name: len(store.keys.intersection(keys)) for name, store in self._stores.items()}
        return {name: n for name, n in counted.items() if n}

    def keep_schema(self, name: str, asked: Asked) -> None:
        self._schemas[name] = asked
        self._schemas.move_to_end(name)
        while len(self._schemas) > _MOST_SCHEMAS:
            self._schemas.popitem(last=False)

    def drop_schema(self, name: str) -> None:
        self._schemas.pop(name, None)

    def schemas(self) -> List[Asked]:
        return list(self._schemas.values())
