"""Which store is a node's: a folder of its own, by the node's name, which outlives Ray's cluster."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import ray

__all__ = ["NodeStore", "store_of"]


class NodeStore(NamedTuple):
    name: str  # what routers call it
    path: Path


def store_of(directory: Path, shared: bool) -> NodeStore:
    """Of the node that asks. Nodes without a name of their own have their address."""
    if shared:
        return NodeStore(str(directory), directory)
    here = ray.get_runtime_context().get_node_id()
    node = next(node for node in ray.nodes() if node["NodeID"] == here)
    name = re.sub(r"[^\w.-]", "_", node["NodeName"])
    return NodeStore(name, directory / name)
