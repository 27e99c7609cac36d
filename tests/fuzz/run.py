"""Runs a libFuzzer program within the limits that every target keeps.

run.py PROGRAM FOUND SEEDS: a minute of new inputs, or PC_FUZZ_RUNS inputs, after all that are in
the folders SEEDS and FOUND; new ones that reach new code are kept in FOUND, one that fails is
written beside it. Fails where the program does, where an input takes more than a second, and where
next to nothing was executed: a target that returns at once would pass for ever.
"""

import glob
import os
import re
import resource
import subprocess
import sys

MOST_SECONDS = 1.0  # of processor time, for one input
LIMITS = [
    # Clocks do not fail an input, since a busy machine may stop any: one that takes a second by the
    # clock is run again, by itself (slow_inputs below). What hangs is ended.
    "-report_slow_units=1",
    "-timeout=30",
    "-rss_limit_mb=512",     # of the process, libFuzzer's and the sanitizers' own memory included
    "-malloc_limit_mb=256",  # at once
]
# Freed memory that ASan keeps to find uses of it: 256 MiB by default, half of all that there is.
ASAN = "quarantine_size_mb=64"
LEAST = 500  # inputs: a tenth of what the slowest target does in a minute beside other work


def run(command):
    """The process that ended, and the processor time that it took."""
    environment = dict(os.environ)
    environment["ASAN_OPTIONS"] = ":".join(filter(None, [ASAN, os.environ.get("ASAN_OPTIONS")]))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, errors="replace", check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def slow_inputs(program, prefix):
    """Those of the inputs reported as slow that are: start and end of the program included."""
    slow = []
    for path in glob.glob(glob.escape(prefix) + "slow-unit-*"):
        seconds = run([program, path])[1]
        if seconds > MOST_SECONDS:
            slow.append(f"{path}: {seconds:.1f} s of processor time")
        else:
            os.remove(path)
    return slow


def main(program, found, seeds):
    os.makedirs(found, exist_ok=True)
    runs = int(os.environ.get("PC_FUZZ_RUNS", "0"))
    length = f"-runs={runs}" if runs else "-max_total_time=60"
    prefix = found + "."
    done, _ = run([program, *LIMITS, length, "-print_final_stats=1", f"-artifact_prefix={prefix}", found, seeds])
    sys.stdout.write(done.stderr[-20_000:])
    if done.returncode != 0:
        return done.returncode
    problems = slow_inputs(program, prefix)
    executed = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    n, least = int(executed.group(1)) if executed else 0, max(LEAST, runs)
    if n < least:
        problems.append(f"{program}: {n} inputs were executed, {least} are the least")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
