#!/usr/bin/env python3
"""One engine in a process of its own, for side_by_side.py and loads.py: calls come in as lines of
JSON.

    worker.py promptcache|llama.cpp|llama.cpp-load|llama-server '{"file": ..., "threads": ..., ...}'

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
    if engine == "llama.cpp-load":
        from llama_cpp_load import LlamaCppLoad
        return LlamaCppLoad(options["file"], options["threads"], options["setting"],
                            options["cells"], options["sequences"])
    if engine == "llama-server":
        from llama_server_load import LlamaServerLoad
        return LlamaServerLoad(options["server"], options["file"], options["threads"],
                               options["setting"], options["cells"], options["sequences"])
    from llama_cpp_runs import LlamaCpp
    return LlamaCpp(options["file"], options["threads"], options["context"], kv=options["kv"])


def main():
    target = opened(sys.argv[1], json.loads(sys.argv[2]))
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        method, *arguments = json.loads(line)
        print(json.dumps(getattr(target, method)(*arguments)), flush=True)
    getattr(target, "stop", lambda: None)()


if __name__ == "__main__":
    main()
