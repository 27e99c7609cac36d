"""A library that keeps up with its files, and makes modules while nothing else is to be done."""

from __future__ import annotations

import time
from typing import Callable

from .library import Library
from .updating import Changes

__all__ = ["watch"]


def watch(
    library: Library,
    every_seconds: float,
    changed: Callable[[Changes], None],
    over: Callable[[], bool] = lambda: False,
) -> None:
    """Looks at the files every so often, and encodes a piece at a time in between, until over()
    says so. changed: is told of what was otherwise."""
    next_look = 0.0
    while not over():
        now = time.monotonic()
        if now >= next_look:
            changes = library.refresh()
            next_look = now + every_seconds
            if changes:
                changed(changes)
        elif not library.encode(1):
            time.sleep(min(every_seconds, next_look - now))
