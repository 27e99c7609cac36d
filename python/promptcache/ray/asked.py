"""A request on its way through the fleet, and an answer on its way back: values, which need no Ray.

The front makes an Asked; its router writes into it what is known of the fleet before it is sent; the
replica that answers yields one Begun, and then the rest of the bytes as its server writes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, NamedTuple, Optional, Tuple

from .beginnings import Beginning

__all__ = ["Asked", "Begun", "Headers"]

Headers = List[Tuple[bytes, bytes]]


@dataclass
class Asked:
    method: str
    target: str  # path and query, as the client wrote them
    headers: Headers
    body: bytes
    beginnings: List[Beginning] = field(default_factory=list)
    only: Optional[str] = None  # the one replica that may answer, where only one can
    # Stores that have more of the beginning than any other, and how many bytes; the router's.
    holders: Dict[str, int] = field(default_factory=dict)


class Begun(NamedTuple):
    """Of an answer what there is when its first byte is."""

    status: int
    headers: Headers
    first: bytes
    is_whole: bool  # nothing comes behind `first`
    replica: str  # who answers
