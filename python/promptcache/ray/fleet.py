"""The fleet as an application of Ray Serve, and one command's worth of starting it.

    serve.run(application(FleetOptions(model="/models/m.gguf")))

or `promptcache.ray.fleet:build` in a configuration file of Ray Serve, with FleetOptions' fields as
its arguments (examples/ray).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import Any, Dict, List, Mapping, Optional

import ray
from ray import serve
from ray.serve.config import AutoscalingConfig, DeploymentActorConfig, RequestRouterConfig
from ray.serve.schema import LoggingConfig

from ..errors import InvalidArgument
from .directory import Directory
from .exchange import DIRECTORY
from .front import Front
from .replica import Engine

__all__ = ["FleetOptions", "application", "build"]

ROUTER = "promptcache.ray.router.BeginningsRouter"

# A server makes 4 answers at once and holds a queue; what waits at the front can still go to
# whichever replica is free first, and what waits at a replica cannot.
_ANSWERS_AT_ONCE = 4
_QUEUED_AT_REPLICA = 2
# How old a router's knowledge of what others routed may be.
_REPORT_SECONDS = 2.0
# Answers under way have the time of a long one before a replica is ended.
_LAST_ANSWERS_SECONDS = 60.0
_FRONT_REQUESTS = 4096  # at once: most of them are streams that wait
# Fronts stand on the head node, without which Ray's cluster is none, and where the proxy is: a node
# that is cut off takes with it the requests that replicas there answer, and no one else's.
_ON_THE_HEAD = {"node:__internal_head__": 0.001}
# Ray's access log would take half a millisecond of each request; `--log-requests` is the server's.
_LOGGING = LoggingConfig(enable_access_log=False)


@dataclass(frozen=True)
class FleetOptions:
    model: str  # a file or a folder, at the same place on each node
    replicas: int = 3
    max_replicas: Optional[int] = None  # more than `replicas` under load, up to so many
    fronts: int = 1
    cpus: int = 1  # of a replica: what Ray reserves for it, and the threads of its server
    directory: str = os.path.join(os.path.expanduser("~"), ".cache", "promptcache-fleet")
    shared: bool = False  # the directory is one store for all nodes
    exchange: bool = True  # modules between the nodes' stores
    queue: int = 256  # requests that wait for a replica; others are told to come again
    options: List[str] = field(default_factory=list)  # of `promptcache serve`

    def __post_init__(self) -> None:
        if self.max_replicas is not None and self.max_replicas < self.replicas:
            raise InvalidArgument(
                f"max_replicas is {self.max_replicas}, and replicas, the fewest, are {self.replicas}"
            )


def build(arguments: Mapping[str, Any]) -> serve.Application:
    """For configuration files of Ray Serve: FleetOptions' fields by their names."""
    known = {one.name for one in fields(FleetOptions)}
    if wrong := sorted(set(arguments) - known):
        raise InvalidArgument(f"{wrong[0]!r} is no option of a fleet; there are {', '.join(sorted(known))}")
    return application(FleetOptions(**arguments))


def application(options: FleetOptions, router: str = ROUTER) -> serve.Application:
    """router: another request router of Ray Serve, as module.class."""
    served = ["-t", str(options.cpus), *options.options]
    engine = _deployment(options, router).bind(
        os.path.abspath(options.model), served, os.path.abspath(options.directory),
        options.shared, options.exchange,
    )  # fmt: skip
    front = serve.deployment(Front).options(
        name="front", num_replicas=options.fronts, max_ongoing_requests=_FRONT_REQUESTS,
        ray_actor_options={"num_cpus": 0, "resources": _ON_THE_HEAD}, logging_config=_LOGGING,
    )  # fmt: skip
    return front.bind(engine)


def _deployment(options: FleetOptions, router: str) -> serve.Deployment:
    at_once = _ANSWERS_AT_ONCE + _QUEUED_AT_REPLICA
    size: Dict[str, Any] = {"num_replicas": options.replicas}
    if options.max_replicas is not None:
        size = {
            "autoscaling_config": AutoscalingConfig(
                min_replicas=options.replicas, max_replicas=options.max_replicas,
                initial_replicas=options.replicas, target_ongoing_requests=_ANSWERS_AT_ONCE,
            )
        }  # fmt: skip
    return serve.deployment(Engine).options(
        name="engine", max_ongoing_requests=at_once, max_queued_requests=options.queue,
        ray_actor_options={"num_cpus": options.cpus}, logging_config=_LOGGING,
        graceful_shutdown_timeout_s=_LAST_ANSWERS_SECONDS,
        request_router_config=RequestRouterConfig(
            request_router_class=router,
            request_routing_stats_period_s=_REPORT_SECONDS,
        ),
        deployment_actors=[
            DeploymentActorConfig(
                name=DIRECTORY, actor_class=ray.remote(Directory), actor_options={"num_cpus": 0}
            )
        ],
        **size,
    )  # fmt: skip
