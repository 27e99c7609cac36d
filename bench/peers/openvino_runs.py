#!/usr/bin/env python3
"""OpenVINO GenAI in a process of its own, for today.py: calls come in as lines of JSON.

    openvino_runs.py '{"file": "MODEL.gguf", "folder": ..., "threads": 2, "at_once": 256}'

Runs with the Python that has openvino_genai (scripts/peers). The file is turned into OpenVINO's own
form once, in `folder`. Prefix caching is on; types of computing and of states are its defaults, which
describe() names. Tokens go in and come out: no time of tokenising is counted.
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import openvino as ov
import openvino_genai as genai

DEFAULTS = ("INFERENCE_PRECISION_HINT", "KV_CACHE_PRECISION", "DYNAMIC_QUANTIZATION_GROUP_SIZE")
CACHE_GB = 2  # states of the longest prompts, several times over


def converted(file, folder):
    """A folder with the model in OpenVINO's form; made when this very file is first asked for."""
    is_of = Path(file).stat()
    home = Path(folder) / f"{Path(file).stem}-{is_of.st_size}-{is_of.st_mtime_ns}"
    if not (home / "whole").exists():
        home.mkdir(parents=True, exist_ok=True)
        link = home / Path(file).name
        link.unlink(missing_ok=True)
        os.symlink(Path(file).resolve(), link)
        genai.LLMPipeline(str(link), "CPU", enable_save_ov_model=True)
        (home / "whole").touch()
    return home


def shown(value):
    return value.get_type_name() if isinstance(value, ov.Type) else str(value)


class OpenVino:
    def __init__(self, file, folder, threads, at_once):
        scheduler = genai.SchedulerConfig()
        scheduler.enable_prefix_caching, scheduler.cache_size = True, CACHE_GB
        scheduler.max_num_batched_tokens = at_once
        self.pipeline = genai.LLMPipeline(str(converted(file, folder)), "CPU", scheduler_config=scheduler,
                                          INFERENCE_NUM_THREADS=threads)
        self.tokenizer = self.pipeline.get_tokenizer()

    def describe(self):
        core = ov.Core()
        return {name: shown(core.get_property("CPU", name)) for name in DEFAULTS}

    def answer(self, tokens, n):
        """n greedy tokens behind these: seconds of the whole call and of each token behind the first."""
        config = genai.GenerationConfig()
        config.max_new_tokens, config.do_sample, config.ignore_eos = n, False, True
        begin = time.perf_counter()
        found = self.pipeline.generate(ov.Tensor(np.array([tokens], dtype=np.int64)), config)
        seconds = time.perf_counter() - begin
        return {"s": seconds, "token_s": found.perf_metrics.get_tpot().mean / 1e3 if n > 1 else None,
                "tokens": list(found.tokens[0]), "text": self.tokenizer.decode(found.tokens[0])}


def main():
    engine = OpenVino(**json.loads(sys.argv[1]))
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        method, *arguments = json.loads(line)
        print(json.dumps(getattr(engine, method)(*arguments)), flush=True)


if __name__ == "__main__":
    main()
