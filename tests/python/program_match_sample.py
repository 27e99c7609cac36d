"""A program with match, which Python 3.9 does not read."""

from typing import Literal

from promptcache.program import program, say


@program
def trip(place: Literal["oslo", "rome"], breakfast: bool):
    say("A trip.")
    if breakfast:
        say("With breakfast.")
    match place:
        case "oslo":
            say("To Oslo.")
        case "rome":
            say("To Rome.")
