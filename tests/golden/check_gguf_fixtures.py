#!/usr/bin/env python3
"""Lets llama.cpp judge the files of make_gguf_fixtures.py.

    python tests/golden/check_gguf_fixtures.py [--gguf tests/golden/gguf] [NAME ...]

Needs llama-cpp-python 0.3.36, torch 2.15 and transformers 5.23. Prints, for each
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
import ctypes
import json
import pathlib

import llama_cpp as lib
import numpy as np
import torch
from transformers import AutoModelForCausalLM
from transformers.utils import logging

N_CTX = 256
GELU = ("falcon", "mpt", "gpt2", "gemma")
# Compared where all of the prompt is within the window.
WINDOW_IGNORED = {"phi3.gguf": 8}
# Not compared: it knows the Exaone 4 that has windows by its 64 layers.
BY_SIZE = {"exaone4_window.gguf"}


@ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
def on_log(level, text, _):
    if level == 4:  # errors
        print("  llama.cpp:", text.decode().strip())


def integer_override(key, value):
    overrides = (lib.llama_model_kv_override * 2)()  # the last one, without a key, ends the list
    overrides[0].tag, overrides[0].key = 0, key.encode()
    overrides[0].value.val_i64 = value
    return overrides


def logits_of(path, tokens, overrides):
    model_params = lib.llama_model_default_params()
    model_params.n_gpu_layers = 0
    model_params.use_extra_bufts = False  # no repacked kernels
    if overrides is not None:
        model_params.kv_overrides = overrides
    params = lib.llama_context_default_params()
    params.n_ctx = params.n_batch = params.n_ubatch = N_CTX
    params.n_threads = params.n_threads_batch = 1
    params.type_k = params.type_v = 0  # f32
    params.flash_attn_type = 0
    params.swa_full = True
    model = lib.llama_model_load_from_file(str(path).encode(), model_params)
    assert model, path
    context = lib.llama_init_from_model(model, params)
    assert context, path
    batch = lib.llama_batch_init(len(tokens), 0, 1)
    batch.n_tokens = len(tokens)
    for i, token in enumerate(tokens):
        batch.token[i], batch.pos[i], batch.logits[i] = token, i, True
        batch.n_seq_id[i], batch.seq_id[i][0] = 1, 0
    assert lib.llama_decode(context, batch) == 0, path
    n_vocab = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))
    logits = np.ctypeslib.as_array(lib.llama_get_logits(context), (len(tokens), n_vocab)).copy()
    lib.llama_batch_free(batch)
    lib.llama_free(context)
    lib.llama_model_free(model)
    return logits


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
    if "f16" in file or file.startswith("smollm2"):
        return 0.2
    return 0.02 if file.startswith(GELU) else 1e-4


def check(folder, entry):
    expected = folder / entry["expected"]
    listing = json.loads((expected / "expected.json").read_text())
    want_all = np.fromfile(expected / "expected.bin", "<f4")
    bad = False
    for case in listing["cases"]:
        tokens, n = case["tokens"], len(case["tokens"])
        if case["positions"] != list(range(n)):
            continue  # llama.cpp takes no jumps within a sequence
        overrides = None
        if case["name"] == "short":
            overrides = integer_override("phi3.rope.scaling.original_context_length", 4096)
        begin, n_vocab = case["logits_begin"], listing["vocab_size"]
        want = want_all[begin:begin + n * n_vocab].reshape(n, n_vocab)
        got = logits_of(folder / entry["file"], tokens, overrides)
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
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gguf", type=pathlib.Path, default=here / "gguf")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    lib.llama_log_set(on_log, None)
    lib.llama_backend_init()
    index = json.loads((args.gguf / "index.json").read_text())
    index = [e for e in index if e["file"] not in BY_SIZE]
    chosen = [e for e in index if not args.names or e["file"].removesuffix(".gguf") in args.names]
    raise SystemExit(any([check(args.gguf, entry) for entry in chosen]))


if __name__ == "__main__":
    main()
