"""What the routers of this process did, for its /metrics, and whom they know.

Ray Serve copies a router's module into each process by value, with a state of its own; this one is
imported, and so there is one of it.
"""

from __future__ import annotations

from collections import Counter
from typing import Dict, List

__all__ = ["OUTCOMES", "counted", "replicas"]

# Of a request with a beginning: nobody has it; whoever got it has as much of it as anybody; or those
# that have most of it were busier than their share.
OUTCOMES = ("new", "held", "elsewhere")
counted: "Counter[str]" = Counter()
# Of each deployment, by its name: those who answer.
replicas: Dict[str, List[str]] = {}
