#!/usr/bin/env python3
"""What transformers computes of the trained models in models/, for parity_test.

    python tests/golden/make_trained_fixtures.py [--out tests/golden/trained]

Random weights never reach the ranges that trained ones do: norms that grew, experts that are asked
for one kind of word. Needs torch 2.15 and transformers 5.24; deterministic for one version of each.
For every folder of models/ that says what it is (config.json), <out>/NAME/ holds expected.json and
expected.bin as make_model_fixtures.py writes them, of one prompt as the guide was trained on.
Weights are F16, the computation is in f32.
"""

import argparse
import pathlib
import random
import sys

import torch
from transformers import AutoModelForCausalLM
from transformers.utils import logging

from make_model_fixtures import logits_of, write_json

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parents[1] / "models"
sys.path.insert(0, str(MODELS / "city-guide"))
from data import Shape, Tokenizer, World, write  # noqa: E402

SEED = 1 << 42  # the training's and the evaluations' stay below
N_TOKENS = 96


def tokens_of(folder):
    rng = random.Random(SEED)
    world = World(rng, Shape(2, 4, 2), shared=1.0, ask_about_trip=False)
    return write(rng, Tokenizer(folder / "tokenizer.model"), world).ids[:N_TOKENS]


def make(folder, out):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32,
                                                 attn_implementation="eager").eval()
    tokens = tokens_of(folder)
    positions = list(range(len(tokens)))
    logits = logits_of(model, tokens, positions).contiguous().numpy().astype("<f4")
    out.mkdir(parents=True, exist_ok=True)
    case = {"name": "prompt", "tokens": tokens, "positions": positions, "logits_begin": 0}
    write_json(out / "expected.json", {"vocab_size": logits.shape[-1], "cases": [case]}, indent=None)
    (out / "expected.bin").write_bytes(logits.tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "trained")
    args = parser.parse_args()
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    for folder in sorted(p.parent for p in MODELS.glob("*/config.json")):
        make(folder, args.out / folder.name)


if __name__ == "__main__":
    main()
