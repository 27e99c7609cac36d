#!/usr/bin/env python3
"""Compares a hybrid city guide with transformers, and counts its right answers.

    python3 models/city-guide/check_hybrid.py models/city-guide-delta [--count 500] [--prompts 20]

First the recurrences in chunks beside those by steps; then the exported checkpoint as transformers
computes it beside the class that was trained, on held-out worlds; then what is left of the answers
without one layer's mixing of tokens, and with states that forget; then evaluate.py's table.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoModelForCausalLM

import delta
import mamba
from data import Shape, Tokenizer, World, write
from evaluate import SEED, evaluate
from hybrid import HybridGuide
from recurrence import gated_delta, gated_delta_by_steps, state_space, state_space_by_steps
from train import EVALUATIONS, measure

CLOSE = 1e-4
Publish = Callable[[HybridGuide], dict[str, Tensor]]


def check_recurrences() -> float:
    """The largest difference, over lengths on both sides of a chunk's and keys that are much alike."""
    torch.manual_seed(0)
    worst = 0.0
    for length in (1, 31, 32, 33, 64, 200):
        q, k = (F.normalize(torch.randn(2, 4, length, 16) + alike, dim=-1) for alike in (0.0, 3.0))
        v, write = torch.randn(2, 4, length, 24), torch.rand(2, 4, length)
        for scale in (0.001, 1.0):
            decay = -scale * F.softplus(3 * torch.randn(2, 4, length))
            one = gated_delta(q, k, v, decay, write) - gated_delta_by_steps(q, k, v, decay, write)
            other = (state_space(q[:, :1], k[:, :1], v, decay)
                     - state_space_by_steps(q[:, :1], k[:, :1], v, decay)) / max(1.0, length * 0.1)
            worst = max(worst, one.abs().max().item(), other.abs().max().item())
    return worst


@torch.no_grad()
def restore(model: HybridGuide, publish: Publish, tensors: dict[str, Tensor]) -> None:
    """Undoes `publish`, which moves numbers and adds to them: it is asked where it puts the numbers 0, 1, 2 ..."""
    model.double()
    parts = list(model.parameters())
    flat = torch.zeros(sum(p.numel() for p in parts), dtype=torch.double)

    def spread() -> dict[str, Tensor]:
        for part, values in zip(parts, flat.split([p.numel() for p in parts])):
            part.copy_(values.view_as(part))
        return {name: t.clone() for name, t in publish(model).items()}

    added = spread()
    flat = torch.arange(len(flat), dtype=torch.double)
    places = spread()
    for name, t in tensors.items():
        flat[(places[name] - added[name]).long()] = t.double() - added[name]
    spread()
    model.float()


def load_own(folder: Path, tokenizer: Tokenizer) -> HybridGuide:
    """The exported checkpoint as the class that was trained."""
    is_delta = "qwen3_5" in (folder / "config.json").read_text()
    vocab = tokenizer.vocab_size
    model = delta.DeltaGuide(delta.DeltaConfig(vocab)) if is_delta else mamba.make(vocab)
    restore(model, (delta if is_delta else mamba).publish, load_file(folder / "model.safetensors"))
    return model


@torch.no_grad()
def check_logits(ours: HybridGuide, theirs: AutoModelForCausalLM, tokenizer: Tokenizer,
                 count: int) -> tuple[float, float]:
    """The largest difference of logits, and the largest logit."""
    rng = random.Random(SEED + 99)
    worst = largest = 0.0
    for i in range(count):
        ids = torch.tensor([write(rng, tokenizer, World(rng, Shape(1 + i % 8, 5, 2))).ids])
        logits = theirs(input_ids=ids).logits
        worst = max(worst, (ours.logits(ours.hidden(ids)) - logits).abs().max().item())
        largest = max(largest, logits.abs().max().item())
    return worst, largest


@torch.no_grad()
def without_each(model: HybridGuide, tokenizer: Tokenizer, count: int) -> list[float]:
    """The share of right answers where one layer's attention or recurrence adds nothing, layer by layer."""
    shares = []
    for layer in model.layers:
        mixer = layer.mixer
        last = mixer.o_proj if hasattr(mixer, "o_proj") else mixer.out_proj
        kept = last.weight.clone()
        last.weight.zero_()
        shares.append(measure(model, tokenizer, EVALUATIONS["4x6"], count))
        last.weight.copy_(kept)
    return shares


def remembering(model: HybridGuide, tokenizer: Tokenizer, tokens: float, count: int) -> float:
    """The share of right answers where states fade by a factor of e, besides, in so many tokens."""
    module, name = (delta, "gated_delta") if isinstance(model, delta.DeltaGuide) else (mamba, "state_space")
    whole = getattr(module, name)

    def fading(q: Tensor, k: Tensor, v: Tensor, decay: Tensor, *rest: Tensor) -> Tensor:
        return whole(q, k, v, decay - 1 / tokens, *rest)

    with mock.patch.object(module, name, fading):
        return measure(model, tokenizer, EVALUATIONS["4x6"], count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=500, help="worlds a line of the table; 0: no table")
    parser.add_argument("--prompts", type=int, default=20, help="prompts whose logits are compared")
    args = parser.parse_args()
    worst = check_recurrences()
    print(f"recurrences: at most {worst:.1e} apart")
    tokenizer = Tokenizer(args.folder / "tokenizer.model")

    ours = load_own(args.folder, tokenizer)
    theirs = AutoModelForCausalLM.from_pretrained(args.folder, dtype=torch.float32).eval()
    apart, largest = check_logits(ours, theirs, tokenizer, args.prompts)
    print(f"logits: at most {apart:.1e} apart, the largest {largest:.1f}")
    shares = without_each(ours, tokenizer, 100)
    print("4 pages of 6 facts, right without the mixer of a layer: " + ", ".join(f"{share:.0%}" for share in shares))
    for memory in (0.02, 2, 8, 32, 128):
        share = remembering(ours, tokenizer, memory, 100)
        print(f"the same with states that fade in {memory} tokens: {share:.0%}")
    if args.count:
        evaluate(theirs, tokenizer, "none", args.count)
    raise SystemExit(max(worst, apart / largest) > CLOSE)


if __name__ == "__main__":
    main()
