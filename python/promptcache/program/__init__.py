"""Prompt programs: a Python function that says its prompt, compiled to a schema.

    from typing import Annotated, Literal
    from promptcache.program import Len, program, say, system, user

    @program
    def trip(place: Literal["miami", "tokyo"], days: Annotated[str, Len(8)], question: str):
        with system():
            say("You plan trips.")
        with user():
            say(f"I want to travel for {days}. ")
            match place:
                case "miami":
                    say("Miami has beaches. ")
                case "tokyo":
                    say("Tokyo has temples. ")
            say(question)

    trip.schema()                                # PML: <union>, <module>, <param>
    trip("tokyo", "a week", "Where do I stay?").pml
    trip.bind(engine)("tokyo", "a week", "Where do I stay?").generate()

docs/PYTHON.md, "Prompt programs", is the tutorial.
"""

from .declared import Len
from .errors import ProgramError
from .programs import Bound, Call, Program, program
from .vocabulary import assistant, doc, module, say, system, user

__all__ = [
    "Bound",
    "Call",
    "Len",
    "Program",
    "ProgramError",
    "assistant",
    "doc",
    "module",
    "program",
    "say",
    "system",
    "user",
]
