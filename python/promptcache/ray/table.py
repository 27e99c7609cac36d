"""Who has which beginnings: a bounded table of digests, in which the least recently seen go first.

Soft state: a wrong entry sends a request to a replica that has to compute, and a missing one does
the same. Not for several threads.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Dict, List, Sequence

from .beginnings import Beginning

__all__ = ["MOST_DIGESTS", "Known", "Table"]

# Of about 150 bytes each: 40 MB, and 256 MiB of texts where none of them is shared.
MOST_DIGESTS = 1 << 18


class Known:
    """Digests that one holder has, the newest last."""

    def __init__(self, most: int = MOST_DIGESTS) -> None:
        self._most = most
        self._digests: "OrderedDict[bytes, None]" = OrderedDict()

    def __len__(self) -> int:
        return len(self._digests)

    def note(self, digests: Sequence[bytes]) -> List[bytes]:
        """The shortest beginning first, which goes last. Those of them that were not known."""
        new = [digest for digest in digests if digest not in self._digests]
        for digest in reversed(digests):
            self._digests[digest] = None
            self._digests.move_to_end(digest)
        while len(self._digests) > self._most:
            self._digests.popitem(last=False)
        return new

    def has(self, beginnings: Sequence[Beginning]) -> int:
        """Bytes of those that are known."""
        return sum(b.n_bytes for b in beginnings if b.digest in self._digests)

    def newest(self, n: int) -> List[bytes]:
        """n at most, the newest first, as note() takes them."""
        return [digest for digest, _ in zip(reversed(self._digests), range(n))]


class Table:
    """The same of many holders at once, so that a request costs as many look-ups as it has
    beginnings, however many holders there are."""

    def __init__(self, most: int = MOST_DIGESTS) -> None:
        self._most = most
        self._holders: "OrderedDict[bytes, Dict[str, None]]" = OrderedDict()

    def __len__(self) -> int:
        return len(self._holders)

    def note(self, holder: str, digests: Sequence[bytes]) -> None:
        """The shortest beginning first, which goes last."""
        for digest in reversed(digests):
            self._holders.setdefault(digest, {})[holder] = None
            self._holders.move_to_end(digest)
        while len(self._holders) > self._most:
            self._holders.popitem(last=False)

    def has(self, beginnings: Sequence[Beginning]) -> Dict[str, int]:
        """Of each holder the bytes of those that it has; those that have none are not in it."""
        found: Dict[str, int] = {}
        for beginning in beginnings:
            for holder in self._holders.get(beginning.digest, ()):
                found[holder] = found.get(holder, 0) + beginning.n_bytes
        return found

    def forget(self, holder: str) -> None:
        """A holder that is gone for good."""
        for digest in [d for d, holders in self._holders.items() if holder in holders]:
            del self._holders[digest][holder]
            if not self._holders[digest]:
                del self._holders[digest]
