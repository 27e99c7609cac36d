"""The words of a program, as Python runs them.

say() adds text, system(), user() and assistant() are turns, module() is a text that is encoded by
itself, doc() a file's text. Where a program is run (Program.messages) they collect what is said; where
it is compiled they are not called, and its source says where they stand.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import inspect
import os
from typing import Any, Dict, Iterator, List, Optional

__all__ = [
    "Run",
    "assistant",
    "cleaned",
    "current_run",
    "doc",
    "module",
    "running",
    "say",
    "started",
    "system",
    "user",
]


@dataclasses.dataclass
class Run:
    """What a run of a program has said so far."""

    messages: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    turn: Optional[str] = None  # the role of the turn that is open
    folders: List[str] = dataclasses.field(default_factory=list)  # of the programs that run

    def say(self, text: str) -> None:
        if self.turn is None and (not self.messages or self.messages[-1]["role"] is not None):
            self.messages.append({"role": None, "content": ""})
        self.messages[-1]["content"] += text


_run: contextvars.ContextVar[Optional[Run]] = contextvars.ContextVar("promptcache_run", default=None)


def running() -> Optional[Run]:
    """The run that is going on in this thread or task; None where there is none."""
    return _run.get()


def cleaned(docstring: str) -> str:
    """A docstring as it is said: without the indentation of its lines."""
    return inspect.cleandoc(docstring)


def current_run(word: str) -> Run:
    run = _run.get()
    if run is None:
        raise RuntimeError(
            f"{word}() stands in a program, which says its text when it is run or compiled"
        )
    return run


@contextlib.contextmanager
def started() -> Iterator[Run]:
    """A run of its own, whatever run is going on."""
    token = _run.set(Run())
    try:
        yield current_run("program")
    finally:
        _run.reset(token)


def say(*texts: str) -> None:
    """The next text of the prompt, as it stands: no space and no line break is added."""
    run = current_run("say")
    for text in texts:
        if type(text) is not str:
            raise TypeError(f"say({text!r}): a program says strings; write f'{{...}}'")
        run.say(text)


def doc(path: str) -> None:
    """The text of a UTF-8 file, byte for byte: src= in the schema. path: relative to the folder of the
    file in which the program is written, and below it."""
    run = current_run("doc")
    with open(os.path.join(run.folders[-1], path), encoding="utf-8-sig", newline="") as file:
        run.say(file.read())


@contextlib.contextmanager
def module(name: str, *, cache: bool = True, repair: Optional[str] = None) -> Iterator[None]:
    """Text that is encoded by itself, apart from what stands around it, and is in every prompt that
    comes here. cache=False: it is computed in each prompt. repair: docs/PML.md, 4.8."""
    current_run("module")
    yield


@contextlib.contextmanager
def _turn(role: str) -> Iterator[None]:
    run = current_run(role)
    if run.turn is not None:
        raise RuntimeError(f"{role}() inside {run.turn}(): a turn does not stand in another one")
    run.messages.append({"role": role, "content": ""})
    run.turn = role
    try:
        yield
    finally:
        run.turn = None


@contextlib.contextmanager
def system() -> Iterator[None]:
    """The system's turn."""
    with _turn("system"):
        yield


@contextlib.contextmanager
def user() -> Iterator[None]:
    """A turn of the user."""
    with _turn("user"):
        yield


@contextlib.contextmanager
def assistant() -> Iterator[None]:
    """A turn of the model."""
    with _turn("assistant"):
        yield
