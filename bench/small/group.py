"""A control group of Linux with one CPU and so much memory, for programs that are started in it.

Version 2 where it has the controllers, else version 1; below the caller's own group, so that what held
for the caller still holds. Making one takes root, or a group that was handed over. Pages of files count in the
group that read them first, so a file of a measurement has to leave the page cache before it.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
SAMPLE_S = 0.02


class Error(Exception):
    """No group can be made here."""


def own_groups(text):
    """controller -> this process's group, of /proc/self/cgroup; version 2's has the name ""."""
    found = {}
    for line in text.splitlines():
        _, names, path = line.split(":", 2)
        found.update({name: path for name in names.split(",")})
    return found


def stat_of(text):
    return {key: int(value) for key, value in (line.split() for line in text.splitlines() if line)}


class Version1:
    limit, processes, now_file = "memory.limit_in_bytes", "cgroup.procs", "memory.usage_in_bytes"
    anonymous, files = "rss", "cache"

    def __init__(self, name):
        own = own_groups(Path("/proc/self/cgroup").read_text())
        self.memory = ROOT / "memory" / own["memory"].strip("/") / name
        self.cpus = ROOT / "cpuset" / own["cpuset"].strip("/") / name
        self.folders = (self.memory, self.cpus)

    def set_up(self, n_bytes, cpu):
        (self.cpus / "cpuset.mems").write_text((self.cpus.parent / "cpuset.mems").read_text())
        (self.cpus / "cpuset.cpus").write_text(str(cpu))
        (self.memory / self.limit).write_text(str(n_bytes))

    def killed(self):
        text = (self.memory / "memory.oom_control").read_text()
        return stat_of(text).get("oom_kill", 0)


class Version2:
    limit, processes, now_file = "memory.max", "cgroup.procs", "memory.current"
    anonymous, files = "anon", "file"

    def __init__(self, name):
        # A group with processes hands no controllers down: beside the caller's, in the group above.
        own = own_groups(Path("/proc/self/cgroup").read_text())[""].strip("/")
        self.memory = (ROOT / own).parent / name if own else ROOT / name
        self.folders = (self.memory,)

    def set_up(self, n_bytes, cpu):
        (self.memory / self.limit).write_text(str(n_bytes))
        (self.memory / "memory.swap.max").write_text("0")
        (self.memory / "cpuset.cpus").write_text(str(cpu))

    def killed(self):
        return stat_of((self.memory / "memory.events").read_text()).get("oom_kill", 0)

def version():
    return Version2 if (ROOT / "cgroup.controllers").exists() else Version1


class Group:
    """memory bytes, on one CPU; ended by close()."""

    def __init__(self, n_bytes, cpu):
        self.made = version()(f"promptcache-small-{os.getpid()}")
        self.n_bytes = n_bytes
        try:
            for folder in self.made.folders:
                folder.mkdir()
            self.made.set_up(n_bytes, cpu)
        except OSError as error:
            self.close()
            raise Error(f"no control group with {n_bytes} bytes and one CPU can be made: {error.filename}: "
                        f"{error.strerror}; it takes root") from error

    def join(self):
        """Run in the child, before the program begins."""
        for folder in self.made.folders:
            (folder / self.made.processes).write_text(str(os.getpid()))

    def start(self, command, **options):
        return subprocess.Popen([str(c) for c in command], preexec_fn=self.join, **options)

    def watched(self):
        return Watch(self)

    def close(self):
        """Ends what is left in it, which was started here, and removes it."""
        for folder in self.made.folders:
            if (folder / self.made.processes).exists():
                for pid in (folder / self.made.processes).read_text().split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
            for _ in range(100):  # a group is gone a moment after its last process
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.05)
                else:
                    break


class Watch:
    """with group.watched() as seen: afterwards the most that was anonymous, of files, and in all, of what
    a look each SAMPLE_S saw: the kernel's own peak is of the group's life, in version 2."""

    def __init__(self, group):
        self.made, self.over = group.made, threading.Event()
        self.anonymous = self.files = self.peak = self.killed = 0

    def __enter__(self):
        self.killed_before = self.made.killed()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        return self

    def watch(self):
        while not self.over.wait(SAMPLE_S):
            found = stat_of((self.made.memory / "memory.stat").read_text())
            self.anonymous = max(self.anonymous, found[self.made.anonymous])
            self.files = max(self.files, found[self.made.files])
            self.peak = max(self.peak, int((self.made.memory / self.made.now_file).read_text()))

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.killed = self.made.killed() - self.killed_before

    def facts(self):
        return {"anonymous": self.anonymous, "files": self.files, "peak": self.peak, "killed": self.killed}
