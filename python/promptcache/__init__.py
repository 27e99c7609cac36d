"""promptcache: prompts that share text, answered by computing only what is new.

    import promptcache

    with promptcache.Engine("model.gguf") as engine:
        schema = engine.load_schema("guide.pml")
        prompt = schema.prompt('<prompt schema="guide"><user><oslo/>What to see?</user></prompt>')
        with prompt.session(max_tokens=64) as session:
            for text in session:
                print(text, end="")

A schema names the pieces that prompts share; each is computed once and kept in a file. docs/PYTHON.md
is the tutorial.
"""

from typing import TYPE_CHECKING, Any

from . import errors
from ._library import lib as _lib
from ._library import text_of as _text_of
from .chat import Reply
from .constraint import Constraint
from .encoding import Encoded, Pin
from .engine import Engine, EngineFacts, build, inspect, verify
from .errors import *  # noqa: F403
from .messages import Use
from .prompt import Counts, Prompt
from .schema import Schema
from .session import Session, Stats, Token
from .store import Store
from .tools import CallReader, ToolCall, Tools

if TYPE_CHECKING:
    from .library import Library

__version__ = _text_of(_lib.pc_version())


def __getattr__(name: str) -> Any:
    """Library, which wants sqlite3 and much else, is imported when it is asked for."""
    if name == "Library":
        from .library import Library

        return Library
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "CallReader",
    "Constraint",
    "Counts",
    "Encoded",
    "Engine",
    "EngineFacts",
    "Library",
    "Pin",
    "Prompt",
    "Reply",
    "Schema",
    "Session",
    "Stats",
    "Store",
    "Token",
    "ToolCall",
    "Tools",
    "Use",
    "build",
    "inspect",
    "verify",
]
__all__ += errors.__all__
