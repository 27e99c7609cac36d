#!/usr/bin/env python3
"""A store behind the store on a real file system that hangs, dies and is unmounted: one of FUSE.

    tier_fuse_test.py COMMAND TINY_MODEL

Needs FUSE (/dev/fuse, the right to mount) and the Python package mfusepy, also in the environment that scripts/python
makes; without them it is skipped and says so.
"""
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from command import CommandTest, MODEL

# Shows one folder as another. While the file `hang` is there, nothing is answered.
SERVER = """
import os, sys, time
import mfusepy
class Shown(mfusepy.Operations):
    def __init__(self, root, hang): self.root, self.hang = root, hang
    def at(self, path):
        while os.path.exists(self.hang): time.sleep(0.01)
        return self.root + path
    def getattr(self, path, fh=None):
        st = os.lstat(self.at(path))
        return {k: getattr(st, k) for k in ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_mtime", "st_ctime", "st_atime")}
    def readdir(self, path, fh): return [".", "..", *os.listdir(self.at(path))]
    def open(self, path, flags): return os.open(self.at(path), flags)
    def read(self, path, size, offset, fh): self.at(path); return os.pread(fh, size, offset)
    def release(self, path, fh): os.close(fh)
mfusepy.FUSE(Shown(sys.argv[1], sys.argv[3]), sys.argv[2], foreground=True, nothreads=False, ro=True, attr_timeout=0, entry_timeout=0)
"""


# An interpreter that has mfusepy and its library; None: none.
def find_python():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    made = pathlib.Path(os.environ.get("PC_PYTHON_ENV") or cache / "promptcache-python") / "bin/python"
    for python in (sys.executable, str(made)):
        if os.path.exists(python) and subprocess.run([python, "-c", "import mfusepy"], capture_output=True).returncode == 0:
            return python
    return None


PYTHON = find_python()


class Mounted(CommandTest):
    def setUp(self):
        super().setUp()
        self.verb("encode")
        self.mounted, self.hang = self.dir / "mounted", self.dir / "hang"
        self.mounted.mkdir()
        self.server = subprocess.Popen([PYTHON, "-W", "ignore", "-c", SERVER, self.cache, self.mounted, self.hang],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end)
        for _ in range(200):
            if (self.mounted / "v3").exists():
                return
            if self.server.poll() is not None:
                print("SKIPPED: no file system of FUSE can be mounted here")
                self.skipTest("no FUSE")
            time.sleep(0.05)
        self.fail("the file system was not mounted")

    def end(self):
        self.hang.unlink(missing_ok=True)
        self.server.kill()
        self.server.wait()
        subprocess.run(["umount", "-l", self.mounted], stderr=subprocess.DEVNULL, check=False)

    def answer(self, *arguments):
        begin = time.monotonic()
        self.verb("run", "-n", "4", self.prompt, "--cache-dir", str(self.dir / "own"), *arguments)
        return self.out, time.monotonic() - begin

    def behind(self):
        return self.answer("--cache-from", str(self.mounted))

    def copied(self):
        return len(list((self.dir / "own/v3/objects").glob("*.module")))

    def test_it_is_copied_and_answers_are_the_same(self):
        self.verb("run", "-n", "4", self.prompt)
        expected = self.out
        self.assertEqual(self.behind()[0], expected)
        self.assertGreater(self.copied(), 0)

    def test_one_that_hangs_costs_a_moment_and_a_remark(self):
        expected, usual = self.answer("--read-only-cache")
        self.hang.touch()
        process = self.start("run", "-m", MODEL, "-t", "1", "-s", self.schema, "-n", "4", self.prompt, "--cache-dir",
                             str(self.dir / "own"), "--cache-from", str(self.mounted))
        begin = time.monotonic()
        os.set_blocking(process.stdout.fileno(), False)
        got = ""  # what it has said while the file system hangs
        while got != expected and time.monotonic() - begin < usual + 20:
            try:
                got += os.read(process.stdout.fileno(), 65536).decode(errors="replace")
            except BlockingIOError:
                time.sleep(0.05)
        self.hang.unlink()  # Linux lets a process end only when FUSE has answered its calls
        process.wait(timeout=30)
        err = process.stderr.read()
        process.stdout.close()
        process.stderr.close()
        self.assertEqual(got, expected)
        self.assertIn("does not answer", err)

    def test_one_whose_server_died_or_that_is_unmounted_is_done_without(self):
        expected, _ = self.answer("--read-only-cache")
        self.server.send_signal(signal.SIGKILL)
        self.server.wait()
        self.assertEqual(self.behind()[0], expected)
        self.assertIn(str(self.mounted), self.err)
        subprocess.run(["umount", "-l", self.mounted], check=True)
        self.assertEqual(self.behind()[0], expected)


if __name__ == "__main__":
    if not PYTHON or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        print("SKIPPED: no mfusepy (scripts/python, and libfuse), or /dev/fuse cannot be opened")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1], verbosity=1)
