"""Runs a libFuzzer program within the limits that every target keeps.

run.py PROGRAM FOUND SEEDS: a minute of new inputs, or PC_FUZZ_RUNS inputs, after all that are in
the folders SEEDS and FOUND; new ones that reach new code are kept in FOUND, one that fails is
written beside it. Fails where the program does, and where it did next to nothing: a target that
returns at once, or hardly executes, would pass for ever.
"""

import os
import re
import subprocess
import sys

LIMITS = [
    "-timeout=1",            # seconds for one input
    "-rss_limit_mb=512",     # of the process, libFuzzer's and the sanitizers' own memory included
    "-malloc_limit_mb=256",  # at once
]
# Freed memory that ASan keeps to find uses of it: 256 MiB by default, half of all that there is.
ASAN = "quarantine_size_mb=64"
LEAST = 500  # inputs: a tenth of what the slowest target does in a minute beside other work


def main(program, found, seeds):
    os.makedirs(found, exist_ok=True)
    runs = int(os.environ.get("PC_FUZZ_RUNS", "0"))
    length = f"-runs={runs}" if runs else "-max_total_time=60"
    environment = dict(os.environ)
    environment["ASAN_OPTIONS"] = ":".join(filter(None, [ASAN, os.environ.get("ASAN_OPTIONS")]))
    command = [program, *LIMITS, length, "-print_final_stats=1", f"-artifact_prefix={found}.", found, seeds]
    done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, errors="replace",
                          check=False)
    sys.stdout.write(done.stderr[-20_000:])
    executed = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    n = int(executed.group(1)) if executed else 0
    if done.returncode != 0:
        return done.returncode
    if n < max(LEAST, runs):
        print(f"{program}: {n} inputs were executed, {max(LEAST, runs)} are the least")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
