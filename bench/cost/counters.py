"""Instructions of a program: by perf where the machine counts them, else by Callgrind. The bytes that it
has from memory: by Callgrind alone, which simulates a CPU's caches. (What perf calls cache-misses are
those of the second cache on one maker's CPUs and of the last on another's, without what prefetchers bring.)"""

import os
import re
import subprocess
import tempfile
from pathlib import Path

LINE = 64  # bytes of a line of the cache
LAST_CACHE = (4 << 20, 16, LINE)  # what Callgrind simulates: as a small machine has
INSTRUCTIONS = "instructions:u"


class Error(Exception):
    """A program that failed, or a machine without a counter."""


def perf_values(text):
    """event -> count, of what perf stat -x, wrote; an event that the machine lacks is missing."""
    found = {}
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) > 2 and re.fullmatch(r"\d+", fields[0]):
            found[fields[2]] = int(fields[0])
    return found


def callgrind_totals(text):
    """event -> count, of a Callgrind file."""
    events = re.search(r"^events: (.*)$", text, re.M)
    totals = re.search(r"^(?:totals|summary): (.*)$", text, re.M)
    if not events or not totals:
        raise Error("Callgrind wrote no totals: did the program end before its time?")
    return dict(zip(events.group(1).split(), map(int, totals.group(1).split())))


def from_callgrind(totals):
    misses = [totals[name] for name in ("ILmr", "DLmr", "DLmw") if name in totals]
    return {"instructions": totals["Ir"], "bytes": LINE * sum(misses) if misses else None}


def has_perf():
    try:
        done = subprocess.run(["perf", "stat", "-x", ",", "-e", INSTRUCTIONS, "true"], capture_output=True,
                              text=True)
    except FileNotFoundError:
        return False
    return INSTRUCTIONS in perf_values(done.stderr)


def ran(command, environment):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()] or ["it said nothing"]
        raise Error(f"{' '.join(map(str, command))} ended with {done.returncode}: {said[-1]}")
    return done.stderr


def by_perf(command, environment, _with_bytes):
    found = perf_values(ran(["perf", "stat", "-x", ",", "-e", INSTRUCTIONS, *command], environment))
    return {"instructions": found[INSTRUCTIONS], "bytes": None}


def by_callgrind(command, environment, with_bytes):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        cache = ["--cache-sim=yes", "--LL=" + ",".join(map(str, LAST_CACHE))] if with_bytes else []
        ran(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *cache, *command], environment)
        return from_callgrind(callgrind_totals(out.read_text()))


def chosen():
    """(name, count(command, environment, with_bytes))."""
    if has_perf():
        return "perf", by_perf
    return "callgrind", by_callgrind
