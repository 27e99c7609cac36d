#!/usr/bin/env python3
"""Makes a mixture of experts of the trained city guide, and trains it further on a CPU.

    python3 models/city-guide/mixture.py --hours 0.15

A layer's network becomes four experts of half its width, of which a token goes to two (Mixtral's
architecture). Experts begin as halves of the trained network, with a little noise, so that there is
little left to learn but which of them to ask (Komatsuzaki et al. 2023, "Sparse upcycling",
arXiv 2212.05055). The rest is train.py's. The checkpoint is exported to models/city-guide-mixture.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from data import Tokenizer
from model import Attention, Config, Llama, Norm, export
from train import HERE, parse_arguments, train

OUT = HERE.parent / "city-guide-mixture"
NOISE = 0.3  # of the experts' first weights, in standard deviations of the network's
BALANCE = 0.01  # the weight of what keeps experts busy alike (Fedus et al. 2022, arXiv 2101.03961)


@dataclass(frozen=True)
class MixtureConfig(Config):
    ffn: int = 192  # of an expert
    experts: int = 4
    used: int = 2

    def to_json(self) -> str:
        fields = json.loads(super().to_json())
        for of_llama in ("attention_bias", "mlp_bias"):
            del fields[of_llama]
        fields |= {"architectures": ["MixtralForCausalLM"], "model_type": "mixtral",
                   "num_local_experts": self.experts, "num_experts_per_tok": self.used,
                   "sliding_window": None, "router_aux_loss_coef": BALANCE}
        return json.dumps(fields, indent=2) + "\n"


class Expert(nn.Module):
    def __init__(self, c: MixtureConfig) -> None:
        super().__init__()
        self.w1 = nn.Linear(c.hidden, c.ffn, bias=False)  # the gate
        self.w2 = nn.Linear(c.ffn, c.hidden, bias=False)
        self.w3 = nn.Linear(c.hidden, c.ffn, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Mixture(nn.Module):
    """Softmax over all experts, the likeliest two, their weights divided by their sum."""

    def __init__(self, c: MixtureConfig) -> None:
        super().__init__()
        self.c = c
        self.gate = nn.Linear(c.hidden, c.experts, bias=False)
        self.experts = nn.ModuleList(Expert(c) for _ in range(c.experts))
        self.penalty: Tensor | float = 0.0

    def forward(self, x: Tensor) -> Tensor:
        chances = torch.softmax(self.gate(x).float(), dim=-1)
        best, chosen = chances.topk(self.c.used, dim=-1)
        weights = torch.zeros_like(chances).scatter(-1, chosen, best / best.sum(-1, keepdim=True))
        shares = (weights > 0).float().flatten(0, -2).mean(0) / self.c.used
        self.penalty = self.c.experts * (shares * chances.flatten(0, -2).mean(0)).sum()
        made = torch.stack([expert(x) for expert in self.experts], dim=-1)
        return (made * weights.to(made.dtype).unsqueeze(-2)).sum(-1)


class MixtureBlock(nn.Module):
    def __init__(self, c: MixtureConfig) -> None:
        super().__init__()
        self.input_layernorm = Norm(c.hidden, c.eps)
        self.self_attn = Attention(c)
        self.post_attention_layernorm = Norm(c.hidden, c.eps)
        self.block_sparse_moe = Mixture(c)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.block_sparse_moe(self.post_attention_layernorm(x))


class MixtureGuide(Llama):
    block = MixtureBlock

    def penalty(self) -> Tensor | float:
        return BALANCE * sum(layer.block_sparse_moe.penalty for layer in self.layers)

    @torch.no_grad()
    def start_from(self, dense: dict[str, Tensor]) -> None:
        """All but the networks as they are; of a network each expert one half, twice as loud,
        since the weights of two add up to one."""
        dense = {name.removeprefix("model."): t.float() for name, t in dense.items()}
        own = self.state_dict()
        own.update({name: t for name, t in dense.items() if ".mlp." not in name})
        self.load_state_dict(own)
        for i, layer in enumerate(self.layers):
            gate, up, down = (dense[f"layers.{i}.mlp.{part}_proj.weight"] for part in ("gate", "up", "down"))
            for e, expert in enumerate(layer.block_sparse_moe.experts):
                half = slice(e % 2 * self.config.ffn, (e % 2 + 1) * self.config.ffn)
                for linear, w in ((expert.w1, gate[half]), (expert.w3, up[half]), (expert.w2, 2 * down[:, half])):
                    linear.weight.copy_(w + NOISE * w.std() * torch.randn_like(w))


def main() -> None:
    args = parse_arguments(__doc__, OUT, hours=0.15, rate=0.004, embedding_rate=5e-4, every=60)
    for name in ("tokenizer.model", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(HERE / name, args.out / name)
    tokenizer = Tokenizer(args.out / "tokenizer.model")
    torch.manual_seed(0)
    model = MixtureGuide(MixtureConfig(tokenizer.vocab_size), copying=False)
    model.start_from(load_file(HERE / "model.safetensors"))
    train(model, tokenizer, args)
    export(model, args.out)


if __name__ == "__main__":
    main()
