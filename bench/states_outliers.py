#!/usr/bin/env python3
"""Question: which keys and values of a model lose most as q8 states, and why?

    python bench/states_outliers.py FILE.gguf TOKENS.json
    python bench/states_outliers.py FOLDER TEXT

Method: transformers (5.23, torch 2.15, sentencepiece) computes the states of one prompt in f32. Each row,
the numbers of a token in a head of a layer, is rounded to 8 bits with the scale max |x| / 127,
once of the whole row and once of each 32 neighbours: `--kv-type q8` does the one with values
and the other with keys. Printed for keys and for values, over all heads of all layers: the
error (relative, L2) of the median head and of the worst one, and of the worst one the channel
that sets the whole row's scale, and how far its numbers stand above the row's root mean square.
TOKENS.json is a file of tests/golden/real; its prompt `alice` is taken.
"""

import json
import os
import pathlib
import sys

import numpy as np
import sentencepiece
import torch
from transformers import AutoModelForCausalLM


def load(path, text):
    path = pathlib.Path(path)
    if path.is_dir():
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(path / "tokenizer.model"))
        return model, [pieces.bos_id()] + pieces.encode(text)
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    prompts = json.loads(pathlib.Path(text).read_text())["prompts"]
    return model, next(p["tokens"] for p in prompts if p["name"] == "alice")


def rounding(x, group):
    """The relative error of x, [tokens, head_dim], with a scale for each `group` dimensions."""
    rows = np.pad(x, ((0, 0), (0, -x.shape[1] % group))).reshape(len(x), -1, group)
    scale = np.maximum(np.abs(rows).max(axis=2, keepdims=True) / 127, 1e-30)
    return np.linalg.norm(np.round(rows / scale) * scale - rows) / np.linalg.norm(rows)


def look(name, planes):
    """planes: {(layer, head): [tokens, head_dim]}"""
    found = []
    in_groups = [rounding(x, 32) for x in planes.values()]
    for (layer, head), x in planes.items():
        off = rounding(x, x.shape[1])
        channel = int(np.bincount(np.abs(x).argmax(axis=1), minlength=x.shape[1]).argmax())
        above = np.abs(x[:, channel]).mean() / np.sqrt((x ** 2).mean(axis=1)).mean()
        found.append((off, layer, head, channel, above))
    off, layer, head, channel, above = max(found)
    print(f"  {name}: {np.median([f[0] for f in found]):.2%} in the median head, {off:.2%} in the worst: layer "
          f"{layer + 1}, head {head + 1}, whose channel {channel} is {above:.1f} times the row's root mean square "
          f"({x.shape[1]} channels); with a scale for 32, {np.median(in_groups):.2%} and {max(in_groups):.2%}")


def main():
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    model, tokens = load(sys.argv[1], sys.argv[2])
    with torch.no_grad():
        cache = model(input_ids=torch.tensor([tokens]), use_cache=True, logits_to_keep=1).past_key_values
    print(f"{pathlib.Path(sys.argv[1]).name}, {len(tokens)} tokens")
    for name in ("keys", "values"):
        look(name, {(i, h): getattr(layer, name)[0, h].numpy() for i, layer in enumerate(cache.layers)
                    for h in range(getattr(layer, name).shape[1])})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
