"""Many conversations of one engine at once, for asyncio: their tokens are computed together, step by
step, by one thread that never holds up the loop.

A token is computed where somebody waits for one: `async for` asks for the next when it has dealt with
the last. The thread waits a moment for those that it just gave tokens, so that all that decode side
by side share a step.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from typing import TYPE_CHECKING, Callable, Dict, List, Optional, Set, TypeVar

from ._library import call, ffi, lib, running

if TYPE_CHECKING:
    from .engine import Engine
    from .session import Session, Token

__all__ = ["astep", "in_thread"]

T = TypeVar("T")

# Seconds that a step waits for those that had a token from the last one: a loop that wakes 200 tasks
# takes so long, and a step of a model worth batching takes more.
_GATHER = 0.004


class _Waiting:
    """Somebody who waits for a session's next token."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.handle = session.handle  # which lives as long as a step may be in it
        self.abandoned = False
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Optional[Token]] = self.loop.create_future()

    def give(self, token: Optional[Token], error: Optional[BaseException]) -> None:
        def settle() -> None:
            if self.future.done():  # its task was cancelled
                return
            if error is not None:
                self.future.set_exception(error)
            else:
                self.future.set_result(token)

        try:
            self.loop.call_soon_threadsafe(settle)
        except RuntimeError:  # the loop is closed: nobody waits
            pass


class _Steps:
    """The thread that computes one engine's steps. It ends when nobody has asked for a while."""

    IDLE = 1.0  # seconds

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: Dict[int, _Waiting] = {}  # by the session's id
        self._thread: Optional[threading.Thread] = None

    def ask(self, waiting: _Waiting) -> None:
        with self._changed:
            if id(waiting.session) in self._waiting:
                raise RuntimeError("this session's next token is already waited for")
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="promptcache steps", daemon=True)
                thread.start()  # or it raises, and nobody waits
                self._thread = thread
            self._waiting[id(waiting.session)] = waiting
            self._changed.notify()

    def abandon(self, waiting: _Waiting) -> None:
        with self._changed:
            waiting.abandoned = True
            self._changed.notify()

    def _run(self) -> None:
        given: Set[int] = set()  # the sessions that had a token from the last step
        while True:
            batch = self._next_batch(given)
            if batch is None:
                return
            given = self._step(batch) if batch else set()
            del batch  # its sessions may be closed while nobody asks

    def _next_batch(self, given: Set[int]) -> Optional[List[_Waiting]]:
        with self._changed:
            if given:
                self._changed.wait_for(lambda: given <= self._waiting.keys(), timeout=_GATHER)
            if not self._changed.wait_for(lambda: self._waiting, timeout=self.IDLE):
                self._thread = None
                return None
            for waiting in [w for w in self._waiting.values() if w.abandoned]:
                del self._waiting[id(waiting.session)]
                waiting.give(None, None)
            return list(self._waiting.values())

    def _step(self, batch: List[_Waiting]) -> Set[int]:
        n = len(batch)
        try:
            tokens, outcomes = ffi.new("pc_token[]", n), ffi.new("pc_error[]", n)
            call(lib.pc_batch_step, [w.handle for w in batch], n, tokens, outcomes)
        except BaseException as error:  # of the call itself: nothing was drawn
            for waiting in batch:
                self._settle(waiting, None, error)
            return set()
        given = set()
        for waiting, token, outcome in zip(batch, tokens, outcomes):
            if outcome.status == lib.PC_PENDING:
                continue
            drawn, failure = None, None
            try:
                drawn = waiting.session.taken(outcome.status, token, ffi.addressof(outcome))
            except Exception as error:
                failure = error
            if drawn is not None:
                given.add(id(waiting.session))
            self._settle(waiting, drawn, failure)
        return given

    def _settle(
        self, waiting: _Waiting, token: Optional[Token], error: Optional[BaseException]
    ) -> None:
        with self._changed:
            self._waiting.pop(id(waiting.session), None)
        waiting.give(token, error)


_steps: weakref.WeakKeyDictionary[Engine, _Steps] = weakref.WeakKeyDictionary()
_steps_lock = threading.Lock()


def _forget_steps() -> None:
    """In a child of fork(), which has none of the threads: engines say there what they say of it."""
    global _steps_lock
    _steps_lock = threading.Lock()
    _steps.clear()


os.register_at_fork(after_in_child=_forget_steps)


def _steps_of(engine: Engine) -> _Steps:
    with _steps_lock:
        return _steps.setdefault(engine, _Steps())


async def astep(session: Session) -> Optional[Token]:
    """The session's next token, or None when its answer is over. Where the task is cancelled no step
    of the session is under way any more when this returns, and no token is lost."""
    if session.ahead:
        return session.ahead.pop(0)
    waiting, steps = _Waiting(session), _steps_of(session.engine)
    steps.ask(waiting)
    try:
        return await asyncio.shield(waiting.future)
    except asyncio.CancelledError:
        steps.abandon(waiting)
        token = await _outcome(waiting.future)
        if token is not None:  # whoever asks next has it
            session.ahead.append(token)
        raise


async def _outcome(future: asyncio.Future[T]) -> Optional[T]:
    """What it gave; None where it failed, as a step of the session's will again. Is not cancelled."""
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            pass
    return None if future.exception() else future.result()


async def in_thread(function: Callable[[], T]) -> T:
    """What takes long and is no step, in a thread of the loop's. Where the task is cancelled the
    function's C call ends at its next report of progress, and is waited for."""
    stop = threading.Event()

    def run() -> T:
        running.stop = stop
        try:
            return function()
        finally:
            running.stop = None

    computing = asyncio.get_running_loop().run_in_executor(None, run)
    try:
        return await asyncio.shield(computing)
    except asyncio.CancelledError:
        stop.set()
        await _outcome(computing)
        raise
