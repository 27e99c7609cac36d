"""The error of a file that a library cannot read."""

from __future__ import annotations

__all__ = ["Unreadable"]


class Unreadable(Exception):
    """A sentence says why there is no text to be had of a file, and what to do about it."""
