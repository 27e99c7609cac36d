"""What can go wrong, one class for each status of the C API.

Every error says in one sentence what is wrong, where, and what to do about it. `line` and `column`
(1-based; columns in bytes) point into a PML document where the error is about a place in one.
"""

from __future__ import annotations

from typing import Dict, Optional, Type

__all__ = [
    "BudgetExceeded",
    "Cancelled",
    "ContextFull",
    "Corrupt",
    "Error",
    "InternalError",
    "InvalidArgument",
    "IOFailure",
    "Mismatch",
    "NotFinite",
    "NotFound",
    "OutOfMemory",
    "PMLSemanticError",
    "PMLSyntaxError",
    "Unsupported",
]


class Error(Exception):
    """Any failure of the engine. `status` is the C API's number."""

    status: int = 0

    def __init__(self, message: str, line: Optional[int] = None, column: Optional[int] = None) -> None:
        place = f"line {line}, column {column}: " if line else ""
        super().__init__(place + message)
        self.message = message
        self.line = line or None
        self.column = column or None


class InvalidArgument(Error, ValueError):
    """A value that cannot be meant."""

    status = 1


class NotFound(Error, LookupError):
    """A named file, module or object does not exist."""

    status = 2


class IOFailure(Error, OSError):
    """The operating system refused."""

    status = 3


class Corrupt(Error):
    """Bytes that contradict themselves."""

    status = 4


class Unsupported(Error, NotImplementedError):
    """Understood, but not something that this build or this model can do."""

    status = 5


class Mismatch(Error):
    """Two sound things that do not belong together."""

    status = 6


class PMLSyntaxError(Error, ValueError):
    """Not well-formed XML, or over a limit."""

    status = 7


class PMLSemanticError(Error, ValueError):
    """Well-formed PML that breaks a rule of the language."""

    status = 8


class ContextFull(Error):
    """A prompt and its answer do not fit the context window."""

    status = 9


class OutOfMemory(Error, MemoryError):
    """There was no memory for it; nothing is half done."""

    status = 10


class BudgetExceeded(Error):
    """An object is larger than the store may hold."""

    status = 11


class Cancelled(Error):
    """The call was asked to stop."""

    status = 12


class InternalError(Error):
    """A defect in promptcache itself."""

    status = 13


class NotFinite(Error, ArithmeticError):
    """The model computed NaN or infinity: no token and no module comes of it."""

    status = 14


BY_STATUS: Dict[int, Type[Error]] = {kind.status: kind for kind in Error.__subclasses__()}
