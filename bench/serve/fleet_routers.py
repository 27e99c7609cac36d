"""Routers that know nothing of beginnings, to hold the fleet's own beside (bench/serve/fleet.py)."""

from promptcache.ray.router import BeginningsRouter


class RandomRouter(BeginningsRouter):
    """Any replica that is not full."""

    async def choose_replicas(self, candidate_replicas, pending_request=None):
        ranks = await super().choose_replicas(candidate_replicas, pending_request)
        if len(ranks) == 1 and len(ranks[0]) == 1 and pending_request.args[0].only:
            return ranks
        pending_request.args[0].holders = {}
        order = list(candidate_replicas)
        self._draw.shuffle(order)
        return [[replica] for replica in order]


class RoundRobinRouter(BeginningsRouter):
    """One after the other."""

    async def choose_replicas(self, candidate_replicas, pending_request=None):
        ranks = await super().choose_replicas(candidate_replicas, pending_request)
        if len(ranks) == 1 and len(ranks[0]) == 1 and pending_request.args[0].only:
            return ranks
        pending_request.args[0].holders = {}
        self._turn = getattr(self, "_turn", -1) + 1
        order = sorted(candidate_replicas, key=lambda r: r.replica_id.unique_id)
        first = self._turn % len(order)
        return [[replica] for replica in order[first:] + order[:first]]
