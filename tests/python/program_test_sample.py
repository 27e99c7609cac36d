"""A program of a file of its own, whose annotations are strings."""

from __future__ import annotations

from typing import Annotated, Literal, Set, Union

from promptcache.program import Len, program, say

WORDS = {"b", "a", "c"}


@program
def trip(
    city: Literal["oslo", "rome"], several: Set[Literal["a", "b"]], note: Union[str, None] = None
) -> None:
    say("Words: ", ", ".join(sorted(WORDS)), f"; {city}")
    for word in ("a", "b"):
        if word in several:
            say(word)
    if note is not None:
        say(note)


@program
def annotated(
    when: "Annotated[str, Len(8, scaffold='May')]", size: Literal[-1, 1] | None = None
) -> None:
    say(when)
    if size == -1:
        say("-")
