"""What Python holds of the C API's handles: closed by `with`, by close(), or when nothing refers to it."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Callable, Optional, Type, TypeVar

from ._library import ffi

Self = TypeVar("Self", bound="Handle")


class Handle:
    """Owns one handle. close() may be called twice; what is closed says so when it is used."""

    _what = "handle"  # as the sentence that it is closed has it
    _handle: Any = None

    def _own(self, handle: Any, close: Callable[[Any], None]) -> None:
        self._handle = ffi.gc(handle, close)

    @property
    def handle(self) -> Any:
        """The C API's own. ValueError where it is closed."""
        if self._handle is None:
            raise ValueError(f"this {self._what} is closed")
        return self._handle

    @property
    def is_closed(self) -> bool:
        return self._handle is None

    def close(self) -> None:
        """Lets go of it: at once, or when a call that another thread is in returns."""
        self._handle = None

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()
