"""What a store has answered, kept beside it, so that a fleet that starts again knows who has what.

A file of digests, to which each replica of the store appends; harmless when it is lost, cut off or
stale: it decides who is asked, and nothing about answers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import List, Sequence

from .beginnings import Beginning
from .table import MOST_DIGESTS, Known

__all__ = ["Memory"]

_DIGEST = 8
# Twice what is read: written anew once in so many digests, and so seldom.
_MOST_BYTES = 2 * MOST_DIGESTS * _DIGEST


class Memory:
    """What one replica knows of its store."""

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(store.name + ".beginnings")
        self._known = Known()
        self._known.note(_read(self._path)[::-1])

    def note(self, beginnings: Sequence[Beginning]) -> None:
        new = self._known.note([b.digest for b in beginnings])
        if new:
            self._append(b"".join(new[::-1]))

    def has(self, beginnings: Sequence[Beginning]) -> int:
        return self._known.has(beginnings)

    def newest(self, n: int) -> List[bytes]:
        return self._known.newest(n)

    def _append(self, raw: bytes) -> None:
        """One write, which others' do not cut. A disk that is full keeps the file as it is."""
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError:
            return
        try:
            if os.fstat(fd).st_size > _MOST_BYTES:
                os.ftruncate(fd, 0)
                raw = b"".join(self._known.newest(MOST_DIGESTS)[::-1])
            os.write(fd, raw)
        except OSError:
            return
        finally:
            os.close(fd)


def _read(path: Path) -> List[bytes]:
    try:
        raw = path.read_bytes()
    except OSError:
        return []
    raw = raw[: len(raw) - len(raw) % _DIGEST][-MOST_DIGESTS * _DIGEST :]
    return [raw[at : at + _DIGEST] for at in range(0, len(raw), _DIGEST)]
