"""A library that keeps up with its files, and makes modules while nothing else is to be done."""

from __future__ import annotations

import time
from typing import Callable, List, Tuple

from ..errors import InvalidArgument
from .library import Library
from .reading import Changes

__all__ = ["watch"]


def watch(
    library: Library,
    every_seconds: float,
    changed: Callable[[Changes], None],
    over: Callable[[], bool] = lambda: False,
) -> None:
    """Looks at the files every so often, and encodes a piece at a time in between, until over()
    says so. changed: is told of what was otherwise, and of folders that cannot be looked into when
    they are others than the time before."""
    if not every_seconds > 0:
        raise InvalidArgument(f"every_seconds={every_seconds}: more than 0")
    next_look = 0.0
    unreachable: List[Tuple[str, str]] = []
    while not over():
        now = time.monotonic()
        if now >= next_look:
            changes = library.refresh()
            next_look = now + every_seconds
            if changes or changes.unreachable != unreachable:
                changed(changes)
            unreachable = changes.unreachable
        elif not library.encode(1):
            time.sleep(min(every_seconds, next_look - now))
