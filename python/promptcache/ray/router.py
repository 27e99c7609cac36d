"""Ray Serve's request router for the fleet: requests go to those who have their beginnings.

What a store has is learned from what is routed to its replicas, and from what they report
(`record_routing_stats`), which is all that is left after a restart. Replicas of one store have the
same. Stale knowledge costs time alone: each replica can answer each request.
"""

from __future__ import annotations

import random
from typing import Any, Dict, List, Optional

from ray.serve.request_router import PendingRequest, ReplicaID, RequestRouter, RunningReplica

from . import routed
from .asked import Asked
from .choose import SLACK, SPREAD, Replica, ranks, that_count
from .table import Table

__all__ = ["BeginningsRouter"]


class BeginningsRouter(RequestRouter):
    def initialize_state(
        self, spread: float = SPREAD, slack: float = SLACK, seed: Optional[int] = None
    ) -> None:
        self._spread = spread
        self._slack = slack
        self._draw = random.Random(seed)
        self._table = Table()
        self._reported: Dict[ReplicaID, int] = {}

    def update_replicas(self, replicas_now: List[RunningReplica]) -> None:
        super().update_replicas(replicas_now)
        routed.replicas[self._deployment_id.name] = [r.replica_id.unique_id for r in replicas_now]
        for replica in replicas_now:
            self._take_report(replica)

    def _take_report(self, replica: RunningReplica) -> None:
        """Each report once: it comes again with every change of the deployment."""
        report = replica.routing_stats or {}
        number = report.get("number")
        if number is not None and self._reported.get(replica.replica_id) != number:
            self._reported[replica.replica_id] = number
            raw = report["digests"]
            self._table.note(_store(replica), [raw[at : at + 8] for at in range(0, len(raw), 8)])

    async def choose_replicas(
        self,
        candidate_replicas: List[RunningReplica],
        pending_request: Optional[PendingRequest] = None,
    ) -> List[List[RunningReplica]]:
        if pending_request:
            # Where all of them are full, Ray asks again: after a pause, not in a loop of its own.
            pending_request.routing_context.should_backoff = True
        asked = _asked(pending_request)
        if asked and asked.only:
            one = [r for r in candidate_replicas if r.replica_id.unique_id == asked.only]
            if one:  # else it is gone: whoever is asked says what is not there
                return [one]
        of = asked.beginnings if asked else []
        has = that_count(self._table.has(of), sum(b.n_bytes for b in of))
        seen = [
            Replica(has.get(_store(r), 0), self._load(r), r.max_ongoing_requests)
            for r in candidate_replicas
        ]
        if asked:
            most = max((r.has for r in seen), default=0)
            asked.holders = {s: n for s, n in has.items() if n == most > 0}
        order = ranks(seen, self._draw, spread=self._spread, slack=self._slack)
        return [[candidate_replicas[index] for index in rank] for rank in order]

    def _load(self, replica: RunningReplica) -> int:
        return self.replica_queue_len_cache.get(replica.replica_id) or 0

    def on_request_routed(
        self, pending_request: PendingRequest, replica_id: ReplicaID, result: Any
    ) -> None:
        asked, replica = _asked(pending_request), self.curr_replicas.get(replica_id)
        if asked is None or replica is None:
            return
        store = _store(replica)
        if asked.beginnings:
            outcome = "held" if store in asked.holders else "elsewhere" if asked.holders else "new"
            routed.counted[outcome] += 1
            self._table.note(store, [b.digest for b in asked.beginnings])

    def on_replica_actor_died(self, replica_id: ReplicaID) -> None:
        super().on_replica_actor_died(replica_id)
        self._reported.pop(replica_id, None)


def _asked(pending: Optional[PendingRequest]) -> Optional[Asked]:
    first = pending.args[0] if pending and pending.args else None
    return first if isinstance(first, Asked) else None


def _store(replica: RunningReplica) -> str:
    store: str = replica.replica_metadata.get("store", replica.replica_id.unique_id)
    return store
