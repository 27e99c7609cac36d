"""python -m promptcache library ..., as a user types it."""

import os
import signal
import subprocess
import sys
import time

from library_support import MODEL, settled, towns, write

ENGINE = ["-m", str(MODEL), "--threads", "1"]


def command(*given):
    return [sys.executable, "-m", "promptcache", "library", *map(str, given)]


def run(*given, status=0):
    done = subprocess.run(command(*given), capture_output=True, text=True, timeout=300)
    assert done.returncode == status, done.stderr
    return done


def test_add_ask_ls_remove(tmp_path):
    docs, library = towns(tmp_path / "docs", 3), tmp_path / "library"
    (docs / "bad.txt").write_bytes(b"caf\xe9")
    engine = [*ENGINE, "--cache-dir", tmp_path / "cache"]
    added = run("add", library, docs, *engine, "--piece-tokens", 64)
    assert added.stdout == "3 added, 0 changed, 0 removed, 0 unchanged\n"
    assert "bad.txt is left out: it is not UTF-8" in added.stderr

    asked = run("ask", library, "Who is the mayor of Town1?", "-k", 2, "--max-tokens", 8, *engine)
    answer, sources = asked.stdout.split("\n\n")
    assert answer and asked.stderr == ""
    assert sources.splitlines()[0].endswith(f"Town1 ({docs / 'town1.md'})")

    listed = run("ls", library).stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["0", "1", "1", "1"]
    assert listed[0].endswith("save it as UTF-8")

    assert run("remove", library, docs).stdout == f"4 documents forgotten of {docs}\n"
    assert run("ls", library).stdout == ""


def test_add_of_nothing_readable_fails_and_says_why_each_time(tmp_path):
    bad, library = tmp_path / "docs" / "bad.txt", tmp_path / "library"
    bad.parent.mkdir()
    bad.write_bytes(b"caf\xe9")
    engine = [*ENGINE, "--cache-dir", tmp_path / "cache"]
    for _ in range(2):
        assert "bad.txt is left out: it is not UTF-8" in run("add", library, bad.parent, *engine, status=1).stderr
    failed = run("ask", library, "What?", *engine, status=1)
    assert failed.stderr.startswith("promptcache: this library has no text yet: ")
    write(bad.parent / "good.txt", "Some text.")
    assert "bad.txt is left out" in run("add", library, bad.parent, *engine).stderr


def test_what_is_wrong_is_said_in_a_line(tmp_path):
    failed = run("add", tmp_path / "library", tmp_path / "none", *ENGINE, status=1)
    assert failed.stderr == f"promptcache: there is no file or folder {tmp_path / 'none'}\n"
    failed = run("ask", tmp_path / "library", "x", "-m", tmp_path / "none.gguf", status=1)
    assert failed.stderr.startswith("promptcache: ") and failed.stderr.count("\n") == 1
    for verb in (["ls"], ["remove", "x"], ["ask", "x", *ENGINE], ["watch", *ENGINE]):
        failed = run(verb[0], tmp_path / "slip", *verb[1:], status=1)
        assert "there is no library in" in failed.stderr and not (tmp_path / "slip").exists()
    for seconds in ("0", "-1", "nan", "inf", "often"):
        failed = run("watch", tmp_path / "slip", *ENGINE, "--every", seconds, status=2)
        assert f"{seconds!r} is no number of seconds above 0" in failed.stderr
    run("ask", tmp_path / "library", status=2)
    run(status=2)


def line_of(child, seconds=60):
    """The next line, of a child that says one."""
    watchdog = time.monotonic() + seconds
    line = child.stdout.readline()
    assert time.monotonic() < watchdog
    return line


def test_watch_follows_and_encodes_until_it_is_interrupted(tmp_path):
    docs, library = towns(tmp_path / "docs", 2), tmp_path / "library"
    engine = [*ENGINE, "--cache-dir", tmp_path / "cache"]
    run("add", library, docs, *engine)
    child = subprocess.Popen(
        command("watch", library, "--every", 0.1, *engine), stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        write(docs / "new.md", "# New\n\nThe mayor is Zoe.\n")
        assert line_of(child) == "1 added, 0 changed, 0 removed, 2 unchanged\n"
        settled(docs / "town0.md", "# Town0\n\nThe mayor is Bob.\n")
        assert line_of(child) == "0 added, 1 changed, 0 removed, 2 unchanged\n"
        deadline = time.monotonic() + 60
        while modules(tmp_path / "cache") < 4 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert modules(tmp_path / "cache") >= 4  # the instruction and three pieces
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 130
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def modules(folder):
    import promptcache

    with promptcache.Store(folder) as store:
        return len(store.describe()["files"])
