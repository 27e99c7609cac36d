#!/usr/bin/env python3
"""How soon is a fresh process ready, and how soon does it answer from stored states, beside llama.cpp?

    python3 bench/start_bench.py FILE.gguf ... [--cached 4096] [--new 64] [--repeat 5] [--json OUT]
                                 [--build build] [--cold | --boot]

For each GGUF file, in fresh processes that alternate between the two:

  start    opening the file until a prompt could be given; the libraries are loaded before the
           clock starts. promptcache remembers the digest of the weights and their packed form:
           its first start ever, which makes both, is a line of its own
  stored   from the same beginning to the first token of a prompt of --cached stored tokens and
           --new new ones. promptcache: start, parsing of schema and prompt, mapping, computing,
           sampling; llama.cpp: start, its state file read back, computing
  memory   the process's largest resident set then; mapped weights count in it

The files are in memory: this program holds them mapped, since a virtual machine may drive what
nobody maps out of its page cache within seconds. With --cold the model's file, and what either
keeps, are driven out before each process, and the mark is another one: the larger of what the disk
takes for the bytes that the process had read (at the best rate of a plain reader of the same files,
after each turn) and of what the same process takes with all files in memory. With --boot what promptcache remembers of
files that it verified is forgotten, too, as a start of the machine does. Medians, and the range; llama.cpp's best setting of flash attention and of
rearranging its weights (which slows its start and speeds its computing) is the mark of each
column. llama.cpp is PyPI's llama-cpp-python, built for this machine, with as many threads as the
process may use.
"""

import argparse
import json
import mmap
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))
from side_by_side import FLASH, NO_PEER, PLAIN, has_peer  # noqa: E402

PEERS = {"flash attention": (FLASH, True), "no flash attention": (PLAIN, True),
         "flash attention, weights as they are": (FLASH, False)}


def run_ours(o):
    from promptcache_runs import PromptCache
    engine = PromptCache(o["library"], o["file"], o["cache"], o["threads"], o["context"])
    ready = time.perf_counter()
    engine.run(o["cached"], o["new"])
    return [ready - engine.library_loaded, time.perf_counter() - engine.library_loaded]


def run_peer(o):
    from llama_cpp_runs import LlamaCpp
    setting, repack = PEERS[o["peer"]]
    engine = LlamaCpp(o["file"], o["threads"], o["context"], repack)
    engine.use(setting)
    ready = time.perf_counter()
    if o["save"]:
        engine.save(o["cached"], o["state"])
    else:
        engine.attach_s(o["cached"], o["state"])
        engine.timed(engine.tokens[o["cached"]:o["cached"] + o["new"]])
    return [ready - engine.library_loaded, time.perf_counter() - engine.library_loaded]


def kept_files(file, folder):
    """The model's file, and what either program keeps of it."""
    return [path for path in (Path(file), *Path(folder).rglob("*"))
            if path.is_file() and path.stat().st_size]


def hold(path):
    """A mapping of the whole file; while it lives, the file is in memory."""
    with open(path, "rb") as opened:
        return mmap.mmap(opened.fileno(), 0, mmap.MAP_SHARED | mmap.MAP_POPULATE, mmap.PROT_READ)


def evict(path):
    fd = os.open(path, os.O_RDONLY)
    os.fdatasync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def forget(folder):
    """That files were verified in this boot."""
    for stamps in Path(folder).rglob("used"):
        for stamp in stamps.iterdir():
            stamp.unlink()


def read_bytes():
    """From the disk, for this process."""
    return int(Path("/proc/self/io").read_text().split("read_bytes:")[1].split()[0])


def plain_reading_s_a_byte(files):
    """Of files that were driven out, one behind the other in large pieces."""
    size, begin = 0, time.perf_counter()
    for path in files:
        with open(path, "rb", buffering=0) as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
            while piece := opened.read(4 << 20):
                size += len(piece)
    return (time.perf_counter() - begin) / size


def peak_mib():
    """Largest resident set of this program; getrusage's is never below that of what started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def child(options, **more):
    """One measurement in a process of its own: seconds to ready, to the first token; MiB; bytes read.

    None where the process failed; its last line says why.
    """
    out = subprocess.run([sys.executable, __file__, "--child", json.dumps({**options, **more})],
                         capture_output=True, text=True)
    if out.returncode == 0:
        return json.loads(out.stdout.splitlines()[-1])
    why = (out.stderr.splitlines() or [f"ended with {out.returncode}"])[-1]
    print(f"{more['peer'] or 'promptcache'}: {why}", file=sys.stderr)


def measure(file, a, folder):
    options = {"file": str(file), "threads": len(os.sched_getaffinity(0)), "cached": a.cached,
               "new": a.new, "context": a.cached + 256, "cache": folder, "save": False,
               "library": str(a.build / "runtime/libpromptcache.so")}
    first = child(options, peer="") or sys.exit(1)
    variants = {"promptcache": {"peer": ""}}
    for name in PEERS if has_peer() else ():
        # A state is laid out for its setting of flash attention.
        state = f"{folder}/state {PEERS[name][0]}"
        variants[name] = {"peer": name, "state": state}
        if not os.path.exists(state) and not child(options, **variants[name], save=True):
            del variants[name]
    runs = {name: [] for name in variants}
    floors = []  # the disk's, the computing's
    held = [] if a.cold else [hold(path) for path in kept_files(file, folder)]
    for turn in range(a.repeat + 1):  # the first warms up
        for name, more in variants.items():
            if a.boot:
                forget(folder)
            for path in kept_files(file, folder) if a.cold else []:
                evict(path)
            result = child(options, **more) or sys.exit(1)
            if turn > 0:
                runs[name].append(result)
        if a.cold and turn > 0:
            floors.append(floor_of(file, folder, options, runs["promptcache"][-1][3]))
    for mapping in held:
        mapping.close()
    return {"file": Path(file).name, "bytes": Path(file).stat().st_size, "first_start_s": first[0],
            "cached": a.cached, "new": a.new, "floors": floors,
            "runs": {name: [list(column) for column in zip(*rows)] for name, rows in runs.items()}}


def floor_of(file, folder, options, n_bytes):
    """Seconds: of the disk for n_bytes, and of a fresh process with all files in memory."""
    files = kept_files(file, folder)
    for path in files:
        evict(path)
    disk = plain_reading_s_a_byte(files) * n_bytes
    child(options, peer="")  # verifies them, where nobody has since they were forgotten
    warm = child(options, peer="") or sys.exit(1)
    return [disk, warm[1]]


def best_peer(result, column):
    """Name of the setting with the smallest median in that column; None without a peer."""
    names = [n for n in result["runs"] if n != "promptcache"]
    return min(names, key=lambda n: statistics.median(result["runs"][n][column]), default=None)


def ratio_of(result, column):
    """llama.cpp's median over ours, lowest, highest."""
    ours = result["runs"]["promptcache"][column]
    peer = result["runs"][best_peer(result, column)][column]
    return (statistics.median(peer) / statistics.median(ours), min(peer) / max(ours),
            max(peer) / min(ours))


def cell(values, scale, unit):
    low, high = min(values) * scale, max(values) * scale
    return f"{statistics.median(values) * scale:.0f} {unit} ({low:.0f}..{high:.0f})"


COLUMNS = (("start", 1e3, "ms"), ("stored", 1e3, "ms"), ("memory", 1, "MiB"))


def lines_of(result):
    title = {"start": "start to the model ready", "memory": "memory",
             "stored": f"fresh process, {result['cached']} stored + {result['new']}"}
    for column, (name, scale, unit) in enumerate(COLUMNS):
        peer, first, other = best_peer(result, column), "no peer", ""
        if peer:
            first = "**{:.2f}x** ({:.2f}..{:.2f})".format(*ratio_of(result, column))
            other = f"{cell(result['runs'][peer][column], scale, unit)}, {peer}"
        ours = cell(result["runs"]["promptcache"][column], scale, unit)
        yield f"| {title[name]} | {first} | {ours} | {other} |"
    if result.get("floors"):
        disk, warm = zip(*result["floors"])
        ours = result["runs"]["promptcache"]
        floor = max(min(disk), statistics.median(warm))  # what the disk can do, it did once
        over = sorted(s / floor for s in ours[1])
        yield (f"| over the larger of disk and computing | **{statistics.median(over):.2f}x** ({over[0]:.2f}..{over[-1]:.2f}) | "
               f"disk {cell(disk, 1e3, 'ms')} for {statistics.median(ours[3]) / 1e6:.0f} MB, computing {cell(warm, 1e3, 'ms')} | |")
    yield f"| promptcache's first start ever | | {result['first_start_s'] * 1e3:.0f} ms | |"


HEAD = "| | llama.cpp / ours | promptcache | llama.cpp, its best setting |\n|--|--|--|--|"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--build", type=Path, default=HERE.parent / "build")
    parser.add_argument("--cached", type=int, default=4096)
    parser.add_argument("--new", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--boot", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.child:
        options = json.loads(a.child)
        seconds = run_peer(options) if options["peer"] else run_ours(options)
        print(json.dumps([*seconds, peak_mib(), read_bytes()]))
        return
    a.cold = a.cold or a.boot
    if not has_peer():
        print(NO_PEER, file=sys.stderr)
    results = []
    for file in a.files:
        with tempfile.TemporaryDirectory() as folder:
            results.append(measure(file, a, folder))
        print(f"\n{Path(file).name}\n\n{HEAD}", *lines_of(results[-1]), sep="\n", flush=True)
    if a.json:
        a.json.write_text(json.dumps({"files": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
