"""Is it quicker to fetch states than to compute them? What was measured says so.

Pure values, which need no Ray. Times are seconds.
"""

from __future__ import annotations

from typing import Optional

__all__ = ["Rates"]

# Until something was fetched: a disk, and a network of 1 Gbit/s.
_FIRST_BYTES_A_SECOND = 100e6
# To ask, to write the file and to read it, however small it is; measured: docs/SCALE.md.
_FIRST_WAIT = 0.05
# Nobody waits longer for what may not come, whatever it would save; and to look is never too short.
_LONGEST_WAIT, _SHORTEST_WAIT = 10.0, 0.25
_WEIGHT = 0.3  # of the newest of what was measured


class Rates:
    """Of one replica."""

    def __init__(self) -> None:
        self.bytes_a_second = _FIRST_BYTES_A_SECOND
        self.tokens_a_second: Optional[float] = None  # nothing was computed yet

    def note_fetch(self, n_bytes: int, seconds: float) -> None:
        beyond = max(seconds - _FIRST_WAIT, 1e-3)
        self.bytes_a_second += _WEIGHT * (n_bytes / beyond - self.bytes_a_second)

    def note_computed(self, tokens: float, seconds: float) -> None:
        """All that was computed since the server began."""
        if tokens > 0 and seconds > 0:
            self.tokens_a_second = tokens / seconds

    def is_worth(self, n_bytes: int, tokens: int) -> bool:
        """To fetch so many bytes, in the place of so many tokens. Where nobody knows how long those
        take, a fetch is what is tried."""
        if tokens <= 0:
            return False
        if self.tokens_a_second is None:
            return True
        return _FIRST_WAIT + n_bytes / self.bytes_a_second < tokens / self.tokens_a_second

    def patience(self, tokens: int) -> float:
        """How long to wait for so many tokens at most: as long as to compute them."""
        if self.tokens_a_second is None:
            return _LONGEST_WAIT
        return min(max(tokens / self.tokens_a_second, _SHORTEST_WAIT), _LONGEST_WAIT)
