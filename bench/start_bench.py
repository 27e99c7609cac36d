#!/usr/bin/env python3
"""How long does a model file take to be ready, and how much memory does it need, beside llama.cpp?

    python3 bench/start_bench.py FILE.gguf ... [--library build/runtime/libpromptcache.so]
                                 [--repeat 5] [--json OUT]

For each GGUF file, in fresh processes that alternate between the two:

  start    opening the file until a prompt could be given (context 2048); the libraries are
           loaded before the clock starts. promptcache remembers the digest of the weights:
           its first start ever, which hashes them, is a line of its own
  text     then a prompt of 30 words until its first token
  memory   the process's largest resident set after a prompt of 512 words and 16 tokens;
           mapped weights count in it

The page cache is warm. Medians, and the range. llama.cpp is PyPI's llama-cpp-python, built for
this machine, with as many threads as the process may use, flash attention, mapped weights.
Needs no package but that.
"""

import argparse
import ctypes as c
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "models/city-guide"))
CONTEXT, SHORT, LONG, ANSWER = 2048, 30, 512, 16


def words(n):
    return " ".join(("river", "stone", "light", "house", "garden")[i % 5] for i in range(n))


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_ours(file, library, cache):
    from measure import EngineOptions, Error, SessionOptions, Token
    lib, error = c.CDLL(library), Error()

    def call(name, *arguments):
        status = getattr(lib, name)(*arguments, c.byref(error))
        if status not in (0, 100):
            sys.exit(f"{name}: {error.message.decode()}")
        return status

    def ask(engine, text, n):
        handles = [c.c_void_p() for _ in range(3)]
        schema, prompt, session = handles
        source = b'<schema name="s"/>'
        call("pc_schema_parse", engine, source, c.c_size_t(len(source)), None, c.byref(schema))
        source = f'<prompt schema="s">{text}</prompt>'.encode()
        call("pc_prompt_parse", schema, source, c.c_size_t(len(source)), c.byref(prompt))
        options = SessionOptions(struct_size=c.sizeof(SessionOptions), max_tokens=n)
        call("pc_session_open", prompt, c.byref(options), c.byref(session))
        token = Token()
        while call("pc_session_next", session, c.byref(token)) == 0:
            pass

    options = EngineOptions(struct_size=c.sizeof(EngineOptions), model_path=file.encode(),
                            cache_dir=cache.encode(), context_tokens=CONTEXT)
    engine = c.c_void_p()
    begin = time.perf_counter()
    call("pc_engine_open", c.byref(options), c.byref(engine))
    ready = time.perf_counter()
    ask(engine, words(SHORT), 1)
    first = time.perf_counter()
    ask(engine, words(LONG), ANSWER)
    return ready - begin, first - ready, peak_mib()


def run_llama(file):
    import llama_cpp
    n = len(os.sched_getaffinity(0))
    begin = time.perf_counter()
    model = llama_cpp.Llama(file, n_ctx=CONTEXT, n_threads=n, n_threads_batch=n, flash_attn=True,
                            verbose=False)
    ready = time.perf_counter()
    model.create_completion(words(SHORT), max_tokens=1, temperature=0)
    first = time.perf_counter()
    model.reset()
    model.create_completion(words(LONG), max_tokens=ANSWER, temperature=0)
    return ready - begin, first - ready, peak_mib()


def child(engine, file, library, cache):
    """One measurement in a process of its own."""
    out = subprocess.run([sys.executable, __file__, "--child", engine, "--library", library,
                          "--cache", cache, file], check=True, capture_output=True, text=True)
    return json.loads(out.stdout.splitlines()[-1])


def measure(file, a, cache):
    first = child("ours", file, a.library, cache)[0]
    time.sleep(0.1)
    runs = {"ours": [], "llama.cpp": []}
    for _ in range(a.repeat):
        for engine in runs:
            runs[engine].append(child(engine, file, a.library, cache))
    return {"file": Path(file).name, "bytes": Path(file).stat().st_size, "first_start_s": first,
            **{engine: [list(column) for column in zip(*rows)] for engine, rows in runs.items()}}


def cell(values, scale, unit):
    low, high = min(values) * scale, max(values) * scale
    return f"{statistics.median(values) * scale:.0f} {unit} ({low:.0f}..{high:.0f})"


def print_table(results):
    print("| file | | start | 30 words to the first token | memory |\n|--|--|--|--|--|")
    for r in results:
        for engine in ("ours", "llama.cpp"):
            start, text, memory = r[engine]
            print(f"| {r['file']} ({r['bytes'] / 2**20:.0f} MiB) | {engine} | "
                  f"{cell(start, 1e3, 'ms')} | {cell(text, 1e3, 'ms')} | {cell(memory, 1, 'MiB')} |")
        median = [statistics.median(r["llama.cpp"][i]) / statistics.median(r["ours"][i])
                  for i in range(3)]
        print(f"| | llama.cpp / ours | {median[0]:.2f}x | {median[1]:.2f}x | {median[2]:.2f}x |")
        print(f"| | ours, first start ever | {r['first_start_s'] * 1e3:.0f} ms | | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--library", default=str(ROOT / "build/runtime/libpromptcache.so"))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", choices=["ours", "llama.cpp"], help=argparse.SUPPRESS)
    parser.add_argument("--cache", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.child:
        run = run_ours(a.files[0], a.library, a.cache) if a.child == "ours" else run_llama(a.files[0])
        print(json.dumps(run))
        return
    with tempfile.TemporaryDirectory() as cache:
        results = [measure(file, a, cache) for file in a.files]
    print_table(results)
    if a.json:
        a.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
