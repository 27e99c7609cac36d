#!/usr/bin/env python3
"""One engine in a process of its own, for side_by_side.py: calls come in as lines of JSON.

    worker.py promptcache|llama.cpp '{"file": ..., "threads": ..., ...}'

Each line is [method, argument, ...]; the answer is a line with what it returned. Only one worker
of a comparison is asked at a time, so that each has the machine to itself.
"""

import json
import sys


def opened(engine, options):
    if engine == "promptcache":
        from promptcache_runs import PromptCache
        return PromptCache(options["library"], options["file"], options["cache"],
                           options["threads"], options["context"], options["kv"])
    from llama_cpp_runs import LlamaCpp
    return LlamaCpp(options["file"], options["threads"], options["context"], kv=options["kv"])


def main():
    target = opened(sys.argv[1], json.loads(sys.argv[2]))
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        method, *arguments = json.loads(line)
        print(json.dumps(getattr(target, method)(*arguments)), flush=True)


if __name__ == "__main__":
    main()
