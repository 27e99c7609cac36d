#!/usr/bin/env python3
"""Makes a hybrid of Mamba-2 and attention of the trained city guide, and trains it on a CPU.

    python3 models/city-guide/mamba.py --hours 0.42

Granite 4 H's architecture without experts: seven of eight layers are Mamba-2 (Dao and Gu 2024,
arXiv 2405.21060), one attends and knows nothing of positions. How it begins: hybrid.py. The
checkpoint is exported to models/city-guide-mamba.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hybrid import HybridConfig, HybridGuide, heads_first, run, step_bias, taps
from model import Attention, Norm
from recurrence import convolve, state_space
from train import HERE, parse_arguments

OUT = HERE.parent / "city-guide-mamba"


@dataclass(frozen=True)
class MambaConfig(HybridConfig):
    layers: int = 8
    begins: tuple[tuple[int, int], ...] = ((0, 0), (1, 1), (4, 2), (5, 3))
    attending: tuple[int, ...] = (1,)
    imitating: tuple[int, ...] = (0, 4)

    @property
    def channels(self) -> int:
        """Those of the convolution: values, and a key and a query that all heads share."""
        return self.values + 2 * self.key_dim

    def to_json(self) -> str:
        fields = json.loads(super().to_json())
        for of_llama in ("mlp_bias", "rope_parameters"):
            del fields[of_llama]
        fields |= {"architectures": ["GraniteMoeHybridForCausalLM"], "model_type": "granitemoehybrid",
                   "layer_types": self.layer_types("mamba", "attention"), "position_embedding_type": "nope",
                   "num_local_experts": 0, "num_experts_per_tok": 0, "shared_intermediate_size": self.ffn,
                   "attention_multiplier": self.head_dim**-0.5, "embedding_multiplier": 1.0,
                   "residual_multiplier": 1.0, "logits_scaling": 1.0, "mamba_n_heads": self.state_heads,
                   "mamba_d_head": self.value_dim, "mamba_n_groups": 1, "mamba_d_state": self.key_dim,
                   "mamba_d_conv": self.taps, "mamba_expand": self.values // self.hidden,
                   "mamba_chunk_size": 64, "mamba_conv_bias": True, "mamba_proj_bias": False}
        return json.dumps(fields, indent=2) + "\n"


class Mamba(nn.Module):
    def __init__(self, c: MambaConfig) -> None:
        super().__init__()
        self.c = c
        self.in_proj = nn.Linear(c.hidden, c.values + c.channels + c.state_heads, bias=False)
        self.conv1d = taps(c.channels, c.taps)
        self.conv_bias = nn.Parameter(torch.zeros(c.channels))
        self.A_log = nn.Parameter(torch.zeros(c.state_heads))
        self.dt_bias = step_bias(c.state_heads)
        self.D = nn.Parameter(torch.ones(c.state_heads))
        self.norm = Norm(c.values, c.eps)
        self.out_proj = nn.Linear(c.values, c.hidden, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        c = self.c
        gate, mixed, step = self.in_proj(x).split((c.values, c.channels, c.state_heads), dim=-1)
        with torch.autocast("cpu", enabled=False):
            mixed = F.silu(convolve(mixed.float(), self.conv1d.view(-1, c.taps)) + self.conv_bias)
            v, k, q = mixed.split((c.values, c.key_dim, c.key_dim), dim=-1)
            step = F.softplus(step.float() + self.dt_bias).mT
            v = heads_first(v, c.state_heads)
            decay = -self.A_log.exp().unsqueeze(-1) * step
            y = state_space(heads_first(q, 1), heads_first(k, 1), v * step.unsqueeze(-1), decay)
            y = (y + v * self.D.view(-1, 1, 1)).transpose(1, 2).flatten(-2)
            y = self.norm(y * F.silu(gate.float()))
        return self.out_proj(y.to(gate.dtype))


def publish(model: HybridGuide) -> dict[str, Tensor]:
    """The tensors as Granite 4 H has them: a network's gate and its other half in one matrix."""
    tensors, own = {}, model.state_dict()
    kinds = model.config.layer_types("mamba", "self_attn")
    for name, t in own.items():
        if name.endswith("up_proj.weight"):
            continue
        if name.endswith("gate_proj.weight"):
            t = torch.cat((t, own[name.replace("gate_proj", "up_proj")]))
        if name.endswith("conv1d"):
            name, t = name + ".weight", t.view(-1, 1, model.config.taps)
        if name.startswith("layers."):
            name = name.replace("mixer", kinds[int(name.split(".")[1])])
        for ours, theirs in (("mlp.gate_proj", "shared_mlp.input_linear"),
                             ("mlp.down_proj", "shared_mlp.output_linear"), ("conv_bias", "conv1d.bias")):
            name = name.replace(ours, theirs)
        tensors["model." + name] = t
    return tensors


def make(vocab_size: int) -> HybridGuide:
    """Its attention is the dense guide's that is not turned."""
    c = MambaConfig(vocab_size)
    cos, sin = torch.ones(c.max_positions, c.head_dim), torch.zeros(c.max_positions, c.head_dim)
    return HybridGuide(c, lambda: Mamba(c), lambda: Attention(c), cos, sin)


def main() -> None:
    args = parse_arguments(__doc__, OUT, hours=0.42, rate=0.004, embedding_rate=5e-4, every=120)
    run(args, make, publish)


if __name__ == "__main__":
    main()
