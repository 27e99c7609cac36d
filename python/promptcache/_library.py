"""The shared library, and the few ways in which this package calls it.

The library lies beside this file in a wheel; PROMPTCACHE_LIBRARY names another one. Every call
releases the interpreter's lock while the library works.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from pathlib import Path
from typing import Any, Callable, Iterator, List, Optional, Tuple, Union

from . import _c_api
from .errors import BY_STATUS, Error

ffi: Any = _c_api.ffi
NAME = "libpromptcache.so.0"
StrPath = Union[str, "os.PathLike[str]"]


def _open() -> Any:
    named = os.environ.get("PROMPTCACHE_LIBRARY")
    beside = Path(__file__).parent / "lib" / NAME
    path = named or (str(beside) if beside.exists() else NAME)
    try:
        return ffi.dlopen(path)
    except OSError as error:
        raise ImportError(
            f"{path} cannot be loaded ({error}); name the library by the environment variable "
            "PROMPTCACHE_LIBRARY, or install the wheel of promptcache, which has it"
        ) from error


lib = _open()
_OK = lib.PC_OK


def raise_for(status: int, error: Any) -> None:
    """Raises what `error`, a pc_error*, says, unless `status` is PC_OK."""
    if status != lib.PC_OK:
        kind = BY_STATUS.get(status, Error)
        raise kind(text_of(error.message), error.line, error.column)


def call(function: Callable[..., int], *arguments: Any) -> None:
    """function(*arguments, &error); raises where that failed."""
    error = running.error
    status = function(*arguments, error)
    if status != _OK:
        raise_for(status, error)


def text_of(pointer: Any, n_bytes: Optional[int] = None) -> str:
    raw = ffi.string(pointer) if n_bytes is None else ffi.buffer(pointer, n_bytes)[:]
    return str(raw, "utf-8", "replace")


def make(function: Callable[..., int], kind: str, *arguments: Any) -> Any:
    """The handle that function(*arguments, &handle, &error) makes."""
    out = ffi.new(f"{kind} **")
    call(function, *arguments, out)
    return out[0]


def report(function: Callable[..., int], *arguments: Any) -> Any:
    """The JSON that function(*arguments, &json, &error) writes, read."""
    return json.loads(owned_text(function, *arguments))


def owned_text(function: Callable[..., int], *arguments: Any) -> str:
    out = ffi.new("char **")
    call(function, *arguments, out)
    try:
        return text_of(out[0])
    finally:
        lib.pc_free(out[0])


def filled(function: Callable[..., int], kind: str, *arguments: Any) -> Any:
    """The struct that function(*arguments, &struct, &error) fills."""
    out = ffi.new(f"{kind} *")
    out.struct_size = ffi.sizeof(kind)
    call(function, *arguments, out)
    return out


def tokens_of(
    function: Callable[..., int], *arguments: Any, likely: int = 512
) -> List[int]:
    """The tokens of function(*arguments, tokens, capacity, &n, &error); asked again only where there
    are more than the `likely` ones."""
    n = ffi.new("size_t *", likely)
    while True:
        capacity = n[0]
        tokens = ffi.new("int32_t[]", max(capacity, 1))
        call(function, *arguments, tokens, capacity, n)
        if n[0] <= capacity:
            return list(ffi.unpack(tokens, n[0])) if n[0] else []


def likely_tokens(n_bytes: int) -> int:
    """More than a text of so many bytes mostly has."""
    return n_bytes // 2 + 16


def utf8(text: str) -> Tuple[Any, int]:
    """A text as the C API takes it: a pointer that keeps its bytes alive, and how many they are."""
    raw = text.encode("utf-8")
    return ffi.from_buffer("char[]", raw) if raw else ffi.new("char[1]"), len(raw)


def c_text(value: str, what: str = "this text") -> bytes:
    """A text that C ends at its first NUL: one that has a NUL is refused."""
    raw = value.encode("utf-8")
    if b"\0" in raw:
        raise ValueError(f"{what} has a NUL: {value!r}")
    return raw


def path_bytes(path: StrPath) -> bytes:
    raw = os.fsencode(path)
    if b"\0" in raw:
        raise ValueError(f"this path has a NUL: {path!r}")
    return raw


class _Call(threading.local):
    """The C call that a thread is in, as what it calls back sees it."""

    raised: Optional[BaseException] = None  # by a callback
    stop: Optional[threading.Event] = None  # is it to end?

    def __init__(self) -> None:
        # A call's that has none of its own: C writes it when it returns, so that calls of what it
        # calls back have had their use of it.
        self.error = ffi.new("pc_error *")


running = _Call()


def _keep(kind: Any, exception: BaseException, traceback: Any) -> None:
    running.raised = exception


def callback(kind: str, function: Callable[..., int]) -> Any:
    """A Python function as C calls it. What it raises ends the C call (1), and calls() raises it
    behind that: so that Ctrl-C ends whatever reports its progress. Who makes it keeps it as long as
    C may call it."""

    def called(*arguments: Any) -> int:
        if running.stop is not None and running.stop.is_set():
            return 1
        return function(*arguments)

    return ffi.callback(kind, called, error=1, onerror=_keep)


def raise_kept() -> None:
    """What a callback raised in the call that is over."""
    raised, running.raised = running.raised, None
    if raised is not None:
        raise raised


@contextlib.contextmanager
def calls() -> Iterator[None]:
    """Around a C call with callbacks: what one raised is raised in the place of the call's error."""
    running.raised = None
    try:
        yield
    except Error:
        raise_kept()
        raise
    raise_kept()
