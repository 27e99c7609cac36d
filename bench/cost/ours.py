#!/usr/bin/env python3
"""promptcache's part of costs.py: one step, so many times, in a process that does nothing else.

    ours.py LIBRARY MODEL STORE CONTEXT prefill|decode|first CACHED NEW TIMES

prefill: NEW tokens, nothing reused; decode: NEW tokens one after the other, behind a module of CACHED;
first: the first token of a prompt with NEW tokens behind that module, parsed and tokenised.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
from promptcache_runs import PromptCache  # noqa: E402


def main():
    library, model, store, context, step, cached, new, times = sys.argv[1:]
    cached, new = int(cached), int(new)
    engine = PromptCache(library, model, store, 1, int(context))
    for _ in range(int(times)):
        if step == "prefill":
            engine.run(0, new, reuse=False)
        elif step == "first":
            engine.run(cached, new)
        else:
            stats = engine.run(cached, 1, n_answer=new + 1)[1]
            if stats.generated_tokens != new + 1:
                sys.exit(f"the model ended its turn after {stats.generated_tokens} tokens: decode fewer")


if __name__ == "__main__":
    main()
