"""The server that a replica has as its child: found, started, asked over a UNIX socket, ended.

The child lives as long as the process that started it: where that is killed, the kernel ends the
child. Whoever asks streams the answer's bytes as they are written; one that leaves ends the answer.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Callable, List, Optional, Sequence

from ..errors import InternalError, NotFound

__all__ = ["Child", "command"]

_PR_SET_PDEATHSIG = 1
# What the server needs to end answers under way (5 s), and to write what they computed.
_LAST_SECONDS = 15.0
_PREFIX = "promptcache-replica."
_SAID = 4000  # of the last words of a server that failed


def command() -> str:
    """The promptcache command: PROMPTCACHE_COMMAND, the one in this package, or one on the PATH."""
    beside = Path(__file__).resolve().parent.parent / "bin" / "promptcache"
    found = os.environ.get("PROMPTCACHE_COMMAND") or (
        str(beside) if beside.exists() else shutil.which("promptcache")
    )
    if not found or not os.access(found, os.X_OK):
        raise NotFound(
            f"the promptcache command is not {'executable: ' + found if found else 'here'}: install "
            "the wheel of promptcache, which has it, put one on the PATH, or name it by the "
            "environment variable PROMPTCACHE_COMMAND"
        )
    return found


class Child:
    """One server, until close()."""

    def __init__(self, options: Sequence[str], at_its_end: Callable[[str], None]) -> None:
        """at_its_end is told the last words of a server that ended by itself, behind its start."""
        self._at_its_end = at_its_end
        self._is_closing = False
        _sweep()
        # Its owner's alone, and so the socket.
        self.folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}.")
        self.socket = os.path.join(self.folder, "socket")
        self._log = open(os.path.join(self.folder, "log"), "w+b")
        self._arguments = [command(), "serve", "--socket", self.socket, *options]
        self._listening = threading.Event()
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._failure: Optional[OSError] = None
        # The kernel counts the death of a thread as its child's parent's: this one lives on.
        self._keeper = threading.Thread(target=self._keep, name="promptcache", daemon=True)
        self._keeper.start()

    def wait_until_it_listens(self) -> None:
        self._listening.wait()
        if not self.is_running:
            raise InternalError(f"`{' '.join(self._arguments)}` failed: {self.last_words()}")

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def last_words(self) -> str:
        if self._failure:
            return str(self._failure)
        self._log.seek(0)
        return self._log.read()[-_SAID:].decode("utf-8", "replace").strip() or "it said nothing"

    def close(self) -> None:
        self._is_closing = True
        if self._process and self.is_running:
            self._process.terminate()
            try:
                self._process.wait(_LAST_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._keeper.join(_LAST_SECONDS)
        self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _keep(self) -> None:
        try:
            self._process = _started(self._arguments, self._log.fileno())
        except OSError as error:
            self._failure = error
            self._listening.set()
            return
        assert self._process.stdout
        has_begun = bool(self._process.stdout.readline())  # "listening on ...", unless it ended
        if not has_begun:
            self._process.wait()
        self._listening.set()
        self._process.wait()
        if has_begun and not self._is_closing:
            self._at_its_end(self.last_words())


def _sweep() -> None:
    """Folders of replicas that were killed, and could not remove them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*.*"):
        pid = folder.name[len(_PREFIX) :].partition(".")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(folder, ignore_errors=True)


def _started(arguments: List[str], log: int) -> subprocess.Popen[bytes]:
    libc, parent = ctypes.CDLL(None), os.getpid()

    def die_with_parent() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it died before that
            os.kill(os.getpid(), signal.SIGTERM)

    return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                            preexec_fn=die_with_parent)  # fmt: skip
