"""The files on disk that a library is made of.

A file that is gone and a folder that nobody can look into (its disk is not there, it is somebody
else's) are two things: of the second nothing is known, and what was read of it may still be so.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import stat
import time
from pathlib import Path
from typing import Callable, Dict, Iterator, Optional

from .texts import is_readable

__all__ = ["NOTHING", "Found", "closed", "digest", "found_at", "is_under", "walk"]

NOTHING = ("it is empty", "it is not there")  # reasons of closed()
_GONE = (FileNotFoundError, NotADirectoryError)

# A file that is written twice within a tick of the file system's clock, to the same size, looks the
# same by time and size. Ticks are up to 2 s long (FAT's).
_TICK_NS = 2_000_000_000


@dataclasses.dataclass(frozen=True)
class Found:
    """A file as it is now."""

    path: str  # absolute
    mtime_ns: int  # 0 where it is so young that it may change without a trace
    size: int  # bytes


def found_at(path: str) -> Optional[Found]:
    """None: there is no file any more. OSError: nobody can tell."""
    try:
        s = os.stat(path)
    except _GONE:
        return None
    if not stat.S_ISREG(s.st_mode):
        return None
    young = s.st_mtime_ns > time.time_ns() - _TICK_NS
    return Found(path, 0 if young else s.st_mtime_ns, s.st_size)


def is_under(path: str, root: str) -> bool:
    return path == root or path.startswith(os.path.join(root, ""))


def closed(root: str, is_file: bool) -> Optional[str]:
    """Why nobody can tell what is in a folder that was added, or whether a file is there that was: a
    disk that is not mounted leaves no folder, or an empty one. None: one can look."""
    try:
        with os.scandir(os.path.dirname(root) if is_file else root) as entries:
            return NOTHING[0] if next(entries, None) is None else None
    except _GONE:
        return NOTHING[1]
    except OSError as error:
        return _reason(error)


def walk(root: str, is_file: bool, unknown: Dict[str, str]) -> Iterator[Found]:
    """The readable files of a folder, in order; or the file that root is. Hidden files and folders,
    and names that are not UTF-8, are left out. unknown: gets what nobody can look at, and why."""

    def tell(error: OSError) -> None:
        if not isinstance(error, _GONE):
            unknown[os.fsdecode(error.filename)] = _reason(error)

    why = closed(root, is_file)
    if why is not None:
        unknown[root] = why
        return
    for path in [root] if is_file else _paths(root, tell):
        try:
            found = found_at(path)
        except OSError as error:
            tell(error)
        else:
            if found is not None:
                yield found


def _paths(root: str, tell: Callable[[OSError], None]) -> Iterator[str]:
    for folder, names, files in os.walk(root, onerror=tell):
        names[:] = sorted(n for n in names if not n.startswith("."))
        for name in sorted(files):
            path = os.path.join(folder, name)
            if not name.startswith(".") and is_readable(Path(name)) and _is_utf8(path):
                yield path


def _reason(error: OSError) -> str:
    return str(error.strerror or error)


def _is_utf8(path: str) -> bool:
    """Python writes a name's other bytes as halves of surrogate pairs."""
    return path.isprintable() or not any("\ud800" <= c <= "\udfff" for c in path)


def digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
