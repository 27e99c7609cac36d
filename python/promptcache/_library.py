"""The shared library, and the few ways in which this package calls it.

The library lies beside this file in a wheel; PROMPTCACHE_LIBRARY names another one. Every call
releases the interpreter's lock while the library works.
"""

from __future__ import annotations

import contextlib
import json
import os
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


def raise_for(status: int, error: Any) -> None:
    """Raises what `error`, a pc_error*, says, unless `status` is PC_OK."""
    if status != lib.PC_OK:
        kind = BY_STATUS.get(status, Error)
        raise kind(text_of(error.message), error.line, error.column)


def call(function: Callable[..., int], *arguments: Any) -> None:
    """function(*arguments, &error); raises where that failed."""
    error = ffi.new("pc_error *")
    raise_for(function(*arguments, error), error)


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


def tokens_of(function: Callable[..., int], *arguments: Any) -> List[int]:
    """The tokens of function(*arguments, tokens, capacity, &n, &error), which is asked twice."""
    n = ffi.new("size_t *")
    call(function, *arguments, ffi.NULL, 0, n)
    tokens = ffi.new("int32_t[]", max(n[0], 1))
    call(function, *arguments, tokens, n[0], n)
    return list(ffi.unpack(tokens, n[0])) if n[0] else []


def utf8(text: str) -> Tuple[Any, int]:
    """A text as the C API takes it: a pointer that keeps its bytes alive, and how many they are."""
    raw = text.encode("utf-8")
    return ffi.from_buffer("char[]", raw) if raw else ffi.new("char[1]"), len(raw)


def path_bytes(path: StrPath) -> bytes:
    return os.fsencode(path)


class Callback:
    """A Python function as C calls it. What it raises ends the C call, and is raised behind it: so
    that Ctrl-C ends whatever reports its progress."""

    def __init__(self, kind: str, function: Callable[..., int]) -> None:
        self.raised: Optional[BaseException] = None
        self.pointer = ffi.callback(kind, function, error=1, onerror=self._keep)

    def _keep(self, kind: Any, exception: BaseException, traceback: Any) -> None:
        self.raised = exception

    @contextlib.contextmanager
    def calls(self) -> Iterator[None]:
        """Around the C call: raises what the function raised in the place of the call's own error."""
        self.raised = None
        try:
            yield
        except Error:
            if self.raised is None:
                raise
        if self.raised is not None:
            raised, self.raised = self.raised, None
            raise raised
