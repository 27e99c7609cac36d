"""Encoding modules before a prompt is asked, and holding them."""

from __future__ import annotations

import dataclasses
from typing import Any

from ._handle import Handle
from ._library import call, callback, calls, ffi, lib, make
from .progress import Bar, Progress

__all__ = ["Encoded", "Pin", "encode", "pin"]


@dataclasses.dataclass(frozen=True)
class Encoded:
    """What an encoding did."""

    modules: int  # modules and scaffolds of the schema, or that the prompt uses
    modules_encoded: int  # computed now; the others were there
    tokens_computed: int
    bytes_stored: int
    microseconds: int


class Pin(Handle):
    """Modules that are held in memory, and not evicted, until the pin is closed."""

    _what = "pin"

    def __init__(self, handle: Any) -> None:
        self._own(handle, lib.pc_pin_close)


def _told(bar: Bar) -> Any:
    def tell(_: Any, done: int, total: int, module: Any) -> int:
        bar("" if module == ffi.NULL else ffi.string(module).decode(), done, total)
        return 0

    return callback("pc_encode_progress", tell)


def encode(function: Any, handle: Any, progress: Progress) -> Encoded:
    """pc_schema_encode or pc_prompt_encode."""
    stats = ffi.new("pc_encode_stats *")
    stats.struct_size = ffi.sizeof("pc_encode_stats")
    with Bar(progress, "module") as bar:
        told = _told(bar)
        with calls():
            call(function, handle, told, ffi.NULL, stats)
    return Encoded(*(getattr(stats, field.name) for field in dataclasses.fields(Encoded)))


def pin(function: Any, handle: Any, progress: Progress) -> Pin:
    """pc_schema_pin or pc_prompt_pin."""
    with Bar(progress, "module") as bar:
        told = _told(bar)
        with calls():
            return Pin(make(function, "pc_pin", handle, told, ffi.NULL))
