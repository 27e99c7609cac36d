"""The files on disk that a library is made of."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import time
from pathlib import Path
from typing import Iterator

from .texts import is_readable

__all__ = ["Found", "digest", "found_at", "walk"]

# A file that is written twice within a tick of the file system's clock, to the same size, looks the
# same by time and size. Ticks are up to 2 s long (FAT's).
_TICK_NS = 2_000_000_000


@dataclasses.dataclass(frozen=True)
class Found:
    """A file as it is now."""

    path: str  # absolute
    mtime_ns: int  # 0 where it is so young that it may change without a trace
    size: int  # bytes


def found_at(path: str) -> Found:
    """OSError: there is none."""
    s = os.stat(path)
    young = s.st_mtime_ns > time.time_ns() - _TICK_NS
    return Found(path, 0 if young else s.st_mtime_ns, s.st_size)


def walk(root: str) -> Iterator[Found]:
    """The readable files of a folder, in order; or the file that root is. Hidden files and folders,
    and names that are not UTF-8, are left out."""
    if os.path.isfile(root):
        yield found_at(root)
        return
    for folder, names, files in os.walk(root):
        names[:] = sorted(n for n in names if not n.startswith("."))
        for name in sorted(files):
            path = os.path.join(folder, name)
            if name.startswith(".") or not is_readable(Path(name)) or not _is_utf8(path):
                continue
            if os.path.isfile(path):
                try:
                    yield found_at(path)
                except FileNotFoundError:
                    continue  # it went meanwhile


def _is_utf8(path: str) -> bool:
    """Python writes a name's other bytes as halves of surrogate pairs."""
    return path.isprintable() or not any("\ud800" <= c <= "\udfff" for c in path)


def digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
