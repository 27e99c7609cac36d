"""Ten thousand sessions of one engine, opened, asked and closed, leave nothing behind."""

import gc
import os
import weakref

from promptcache._library import ffi

PAGE = os.sysconf("SC_PAGE_SIZE")
WARM, ROUNDS, EACH = 1_000, 9, 1_000


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE


def sessions(prompt, n):
    """Opens and closes n sessions, in each of the ways; gives what is alive of them afterwards."""
    made = weakref.WeakSet()
    for i in range(n):
        session = prompt.session(max_tokens=1, stop=["."], bias={5: 1.0}, progress=lambda done, total: None)
        made.add(session)
        if i % 8 == 0:
            assert session.next() is not None
        if i % 16 == 0:
            made.add(session.fork())  # closed by nobody
        if i % 3:
            session.close()
    del session
    return made


def owned():
    """Objects of C that Python owns now: handles, options, callbacks."""
    return sum(isinstance(o, ffi.CData) for o in gc.get_objects())


def test_ten_thousand_sessions(guide, ask):
    """The first thousand make what all use: caches, the allocator's arenas. The nine thousand behind them
    may take a quarter of that together, or 64 bytes each where that is more: less than anything that a
    session owns."""
    prompt = guide.prompt(ask())
    start = resident_bytes()
    sessions(prompt, WARM)
    gc.collect()
    before, objects, handles = resident_bytes(), len(gc.get_objects()), owned()
    for _ in range(ROUNDS):
        made = sessions(prompt, EACH)
        gc.collect()
        assert len(made) == 0
    del made
    assert owned() == handles and abs(len(gc.get_objects()) - objects) < 100
    bound = max((before - start) // 4, 64 * ROUNDS * EACH)
    assert resident_bytes() - before <= bound
