#!/usr/bin/env python3
"""Trains the city guide on a CPU: plain causal language modelling, no masks, no gaps.

    python3 models/city-guide/train.py --hours 2

The schedule follows wall time.  A checkpoint with optimizer state is written to
checkpoints/ every few minutes and picked up by the next start; a finished run can
be continued with a larger --hours.  At the end the weights, config and tokenizer
are exported beside this script.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from data import Sample, Shape, Tokenizer, World, batches, train_tokenizer, write
from model import Config, Llama, export

HERE = Path(__file__).resolve().parent
EVALUATIONS = {"1x6": Shape(1, 6, 1), "4x6": Shape(4, 6, 1), "8x5": Shape(8, 5, 1)}
FIRST_TOKENS = 150_000  # the smallest worlds and most drills
EVALUATION_SEED = 1 << 40  # training seeds stay below


class Muon:
    """Momentum, orthogonalised by a Newton-Schulz iteration in f32; for matrices."""

    def __init__(self, params: list[Tensor], rate: float, momentum: float = 0.95) -> None:
        self.rate, self.momentum = rate, momentum
        self.groups: dict[torch.Size, list[Tensor]] = {}
        for p in params:
            self.groups.setdefault(p.shape, []).append(p)
        self.state = {shape: torch.zeros(len(ps), *shape) for shape, ps in self.groups.items()}

    @torch.no_grad()
    def step(self, scale: float) -> None:
        for shape, params in self.groups.items():
            grad = torch.stack([p.grad for p in params])
            buffer = self.state[shape]
            buffer.lerp_(grad, 1 - self.momentum)
            update = grad.lerp(buffer, self.momentum)
            tall = shape[0] > shape[1]
            x = update.mT if tall else update
            x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
            for _ in range(5):
                a = x @ x.mT
                x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
            x = x.mT if tall else x
            rate = self.rate * scale * max(1.0, shape[0] / shape[1]) ** 0.5
            for p, u in zip(params, x):
                p.mul_(1 - 0.01 * rate).sub_(u, alpha=rate)


def collate(batch: list[Sample], rng: random.Random, other: float = 0.03) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Padded ids, and the positions to learn from with their targets and weights.

    Every answer token counts 1; of the other tokens a quarter, each with weight `other` * 4.
    """
    longest = max(len(s.ids) for s in batch)
    ids = torch.zeros(len(batch), longest, dtype=torch.long)
    where, target, weight = [], [], []
    for row, s in enumerate(batch):
        ids[row, : len(s.ids)] = torch.tensor(s.ids)
        for i in range(1, len(s.ids)):
            if s.answers[i] or rng.random() < 0.25:
                where.append(row * longest + i - 1)
                target.append(s.ids[i])
                weight.append(1.0 if s.answers[i] else 4 * other)
    return ids, torch.tensor(where), torch.tensor(target), torch.tensor(weight)


@torch.no_grad()
def measure(model: Llama, tokenizer: Tokenizer, shape: Shape, count: int) -> float:
    """Share of held-out worlds whose first answer greedy decoding gets right, all pages alike.

    The answer's tokens are fed as they should be: all of them are the likeliest
    exactly when greedy decoding writes that answer.
    """
    rng = random.Random(EVALUATION_SEED + shape.pages)
    samples = [write(rng, tokenizer, World(rng, shape, shared=1.0, ask_about_trip=False)) for _ in range(count)]
    samples.sort(key=lambda s: len(s.ids))
    right = 0
    for start in range(0, count, 16):
        chunk = samples[start : start + 16]
        ids = torch.zeros(len(chunk), max(s.first[1] for s in chunk), dtype=torch.long)
        for row, s in enumerate(chunk):
            ids[row, : s.first[1]] = torch.tensor(s.ids[: s.first[1]])
        best = model.logits(model.hidden(ids)).argmax(-1)
        for row, s in enumerate(chunk):
            first, last = s.first
            right += bool((best[row, first - 1 : last - 1] == ids[row, first:last]).all())
    return right / count


def parse_arguments(description: str, out: Path, **defaults: float) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, help="wall time of the whole run (default 2, or the checkpoint's)")
    parser.add_argument("--out", type=Path, default=out, help="folder for the checkpoint and the log")
    parser.add_argument("--tokens", type=int, default=2048, help="tokens a batch")
    parser.add_argument("--rate", type=float, default=0.008, help="Muon's rate")
    parser.add_argument("--embedding-rate", type=float, default=2e-3, help="AdamW's rate")
    parser.add_argument("--decay", type=float, default=0.4, help="share of the time in which the rate falls to zero")
    parser.add_argument("--every", type=float, default=180, help="seconds between evaluations")
    parser.add_argument("--random-start", action="store_true", help="start without the copying heads")
    parser.add_argument("--f32", action="store_true", help="no bf16 (for a CPU without AVX-512 bf16)")
    parser.set_defaults(**defaults)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "checkpoints").mkdir(exist_ok=True)
    return args


def main() -> None:
    args = parse_arguments(__doc__, HERE)
    if not (args.out / "tokenizer.model").exists():
        train_tokenizer(args.out / "tokenizer.model")
    tokenizer = Tokenizer(args.out / "tokenizer.model")
    torch.manual_seed(0)
    model = Llama(Config(tokenizer.vocab_size), copying=not args.random_start)
    train(model, tokenizer, args)
    export(model, args.out)


def train(model: Llama, tokenizer: Tokenizer, args: argparse.Namespace) -> None:
    """The whole run, or what is left of it."""
    config = model.config
    matrices = [p for n, p in model.named_parameters() if p.dim() == 2 and "embed" not in n]
    muon = Muon(matrices, args.rate)
    rest = [p for n, p in model.named_parameters() if p.dim() == 1 or "embed" in n]
    adam = torch.optim.AdamW(rest, lr=args.embedding_rate, betas=(0.9, 0.95), weight_decay=0.0)
    seen = step = 0
    elapsed = 0.0
    hours = args.hours or 2.0
    path = args.out / "checkpoints" / "last.pt"
    if path.exists():
        saved = torch.load(path, weights_only=True)
        model.load_state_dict(saved["model"])
        adam.load_state_dict(saved["adam"])
        for (shape, _), buffer in zip(muon.state.items(), saved["muon"]):
            muon.state[shape] = buffer
        seen, step, elapsed = saved["tokens"], saved["step"], saved["elapsed"]
        hours = args.hours or saved["hours"]
    budget = hours * 3600

    def save() -> None:
        state = {"model": model.state_dict(), "adam": adam.state_dict(), "muon": list(muon.state.values()),
                 "tokens": seen, "step": step, "elapsed": elapsed, "hours": hours}
        torch.save(state, path.with_suffix(".tmp"))
        os.replace(path.with_suffix(".tmp"), path)

    def log(text: str) -> None:
        print(text, flush=True)
        with open(args.out / "train.log", "a") as file:
            file.write(text + "\n")

    if step == 0:
        size = sum(p.numel() for p in model.parameters())
        log(f"# {size} parameters, {config}, rate {args.rate}, embedding rate {args.embedding_rate}, {hours} h")
    else:
        log(f"# resumed at step {step}, {hours} h in all")

    def stage() -> int:
        if seen < FIRST_TOKENS:
            return 0
        return 1 if elapsed < 0.12 * budget else 2 if elapsed < 0.3 * budget else 3

    source = batches(step + 1, tokenizer, stage, args.tokens)
    rng = random.Random(step)
    started = time.monotonic() - elapsed
    losses: dict[str, list[float]] = {"drill": [], "world": []}
    last = time.monotonic()
    while elapsed < budget:
        batch = next(source)
        ids, where, target, weight = collate(batch, rng)
        scale = min(1.0, (step + 1) / 100, max(0.0, (1 - elapsed / budget) / args.decay))
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not args.f32):
            states = model.hidden(ids).flatten(0, 1)[where]
            logits = model.logits(states).float()
        each = F.cross_entropy(logits, target, reduction="none")
        loss = (each * weight).sum() / weight.sum() + model.penalty()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(rest, 1.0)
        adam.param_groups[0]["lr"] = args.embedding_rate * scale
        adam.step()
        muon.step(scale)
        model.zero_grad()
        step += 1
        seen += ids.numel()
        losses["world" if batch[0].expected else "drill"].append(each[weight == 1].mean().item())
        elapsed = time.monotonic() - started
        if time.monotonic() - last > args.every or elapsed >= budget:
            shapes = EVALUATIONS.items() if stage() > 0 else ()
            parts = " ".join(f"{k} {measure(model, tokenizer, s, 60):.2f}" for k, s in shapes)
            means = "  ".join(f"{k}-loss {sum(v) / max(1, len(v)):.4f}" for k, v in losses.items())
            log(f"min {elapsed / 60:6.1f}  step {step:6d}  Mtok {seen / 1e6:7.2f}  stage {stage()}  "
                f"rate {scale:.2f}  {means}  {parts}")
            losses = {key: [] for key in losses}
            elapsed = time.monotonic() - started
            save()
            last = time.monotonic()


if __name__ == "__main__":
    main()
