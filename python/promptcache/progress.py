"""Bars for what takes long: opening a model, encoding modules."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Callable, Optional, Type, Union

__all__ = ["Bar", "Progress"]

# None or False: nothing is shown. True: a bar, where tqdm is installed. Else it is called with what
# is done, how much of it, and of how much.
Progress = Union[None, bool, Callable[[str, int, int], None]]


class Bar:
    """What a `progress=` argument asks for, called as one: bar(what, done, total)."""

    def __init__(self, progress: Progress, unit: str) -> None:
        self._call = progress if callable(progress) else None
        self._tqdm: Any = _tqdm() if progress is True else None
        self._unit = unit
        self._bar: Any = None
        self._what: Optional[str] = None

    def __call__(self, what: str, done: int, total: int) -> None:
        if self._call is not None:
            self._call(what, done, total)
        elif self._tqdm is not None:
            self._draw(what, done, total)

    def _draw(self, what: str, done: int, total: int) -> None:
        if self._bar is None or self._bar.total != total:
            self._close()
            scale = self._unit == "B"
            self._bar = self._tqdm(total=total, unit=self._unit, unit_scale=scale)
        if what != self._what:
            self._bar.set_description(what)
            self._what = what
        self._bar.update(done - self._bar.n)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._close()


def _tqdm() -> Any:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return None
    return tqdm
