#!/usr/bin/env python3
"""Makes a hybrid of gated delta rules and attention of the trained city guide, and trains it on a CPU.

    python3 models/city-guide/delta.py --hours 0.33

Qwen3.5's text architecture: three of four layers follow a gated delta rule (Yang et al.
2024, arXiv 2412.06464), one attends, with norms of queries and keys, gates, and half of each head
turned by the position. How it begins: hybrid.py. The checkpoint is exported to models/city-guide-delta.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hybrid import HybridConfig, HybridGuide, heads_first, run, step_bias, taps
from model import Attention, Norm, attend, rope, rotate
from recurrence import convolve, gated_delta
from train import HERE, parse_arguments

OUT = HERE.parent / "city-guide-delta"


@dataclass(frozen=True)
class DeltaConfig(HybridConfig):
    """The turning half of a head has the dense guide's faster frequencies, the rest stands still."""

    layers: int = 4
    begins: tuple[tuple[int, int], ...] = ((0, 0), (1, 1), (2, 2), (3, 3))
    attending: tuple[int, ...] = (1,)
    imitating: tuple[int, ...] = (0, 2)
    key_heads: int = 2
    turning: float = 0.5
    rope_theta: float = 500000.0**0.5

    @property
    def keys(self) -> int:
        return self.key_heads * self.key_dim

    def to_json(self) -> str:
        fields = json.loads(super().to_json())
        del fields["mlp_bias"]
        fields |= {"architectures": ["Qwen3_5ForCausalLM"], "model_type": "qwen3_5_text",
                   "layer_types": self.layer_types("linear_attention", "full_attention"),
                   "rope_parameters": {"rope_type": "default", "rope_theta": self.rope_theta,
                                       "partial_rotary_factor": self.turning},
                   "attn_output_gate": True, "linear_conv_kernel_dim": self.taps,
                   "linear_num_key_heads": self.key_heads, "linear_key_head_dim": self.key_dim,
                   "linear_num_value_heads": self.state_heads, "linear_value_head_dim": self.value_dim}
        return json.dumps(fields, indent=2) + "\n"


class GatedDelta(nn.Module):
    def __init__(self, c: DeltaConfig) -> None:
        super().__init__()
        self.c = c
        self.in_proj_qkv = nn.Linear(c.hidden, 2 * c.keys + c.values, bias=False)
        self.in_proj_z = nn.Linear(c.hidden, c.values, bias=False)  # the gate
        self.in_proj_b = nn.Linear(c.hidden, c.state_heads, bias=False)  # how much is written
        self.in_proj_a = nn.Linear(c.hidden, c.state_heads, bias=False)  # how much is forgotten
        self.conv1d = taps(2 * c.keys + c.values, c.taps)
        self.A_log = nn.Parameter(torch.zeros(c.state_heads))
        self.dt_bias = step_bias(c.state_heads)
        self.norm = Norm(c.value_dim, c.eps)
        self.out_proj = nn.Linear(c.values, c.hidden, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        c = self.c
        mixed, gate = self.in_proj_qkv(x), self.in_proj_z(x)
        write, forget = self.in_proj_b(x).float(), self.in_proj_a(x).float()
        with torch.autocast("cpu", enabled=False):
            mixed = F.silu(convolve(mixed.float(), self.conv1d.view(-1, c.taps)))
            q, k, v = mixed.split((c.keys, c.keys, c.values), dim=-1)
            q, k, v = heads_first(q, c.key_heads), heads_first(k, c.key_heads), heads_first(v, c.state_heads)
            q, k = (t * torch.rsqrt(t.square().sum(-1, keepdim=True) + 1e-6) for t in (q, k))
            q, k = (t.repeat_interleave(c.state_heads // c.key_heads, 1) for t in (q * c.key_dim**-0.5, k))
            decay = -self.A_log.exp() * F.softplus(forget + self.dt_bias)
            y = gated_delta(q, k, v, decay.mT, torch.sigmoid(write).mT)
            y = self.norm(y.transpose(1, 2)).flatten(-2) * F.silu(gate.float())
        return self.out_proj(y.to(gate.dtype))


class GatedAttention(nn.Module):
    def __init__(self, c: DeltaConfig) -> None:
        super().__init__()
        self.c = c
        self.q_proj = nn.Linear(c.hidden, 2 * c.heads * c.head_dim, bias=False)  # of each head a query and a gate
        self.k_proj = nn.Linear(c.hidden, c.kv_heads * c.head_dim, bias=False)
        self.v_proj = nn.Linear(c.hidden, c.kv_heads * c.head_dim, bias=False)
        self.o_proj = nn.Linear(c.heads * c.head_dim, c.hidden, bias=False)
        self.q_norm = Norm(c.head_dim, c.eps)
        self.k_norm = Norm(c.head_dim, c.eps)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        c = self.c

        def turned(y: Tensor) -> Tensor:
            turning, still = y.transpose(1, 2).split((cos.shape[-1], c.head_dim - cos.shape[-1]), dim=-1)
            return torch.cat((rotate(turning, cos, sin), still), dim=-1)

        q, gate = self.q_proj(x).unflatten(-1, (c.heads, -1)).chunk(2, dim=-1)
        k = self.k_proj(x).unflatten(-1, (c.kv_heads, -1))
        v = self.v_proj(x).unflatten(-1, (c.kv_heads, -1)).transpose(1, 2)
        q, k = turned(self.q_norm(q)).to(v.dtype), turned(self.k_norm(k)).to(v.dtype)
        groups = c.heads // c.kv_heads
        y = attend(q, k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1))
        return self.o_proj((y.transpose(1, 2) * torch.sigmoid(gate)).flatten(-2))


class DeltaGuide(HybridGuide):
    def __init__(self, c: DeltaConfig) -> None:
        cos, sin = rope(replace(c, head_dim=int(c.head_dim * c.turning)), c.max_positions)
        super().__init__(c, lambda: GatedDelta(c), lambda: GatedAttention(c), cos, sin)

    def take_attention(self, mixer: nn.Module, dense: Attention, loudness: tuple[float, float]) -> None:
        """A head's numbers are put so that those that turn stand in front. Gates begin at one half."""
        c = self.config
        half, part = c.head_dim // 2, int(c.head_dim * c.turning) // 2
        first = torch.cat((torch.arange(part), half + torch.arange(part)))
        rest = torch.cat((torch.arange(part, half), half + torch.arange(part, half)))
        order = torch.cat((first, rest))
        q = dense.q_proj.weight.unflatten(0, (c.heads, -1))[:, order]
        k = dense.k_proj.weight.unflatten(0, (c.kv_heads, -1))[:, order]
        mixer.q_proj.weight.copy_(torch.cat((q, torch.zeros_like(q)), dim=1).flatten(0, 1))
        mixer.k_proj.weight.copy_(k.flatten(0, 1))
        mixer.v_proj.weight.copy_(dense.v_proj.weight)
        mixer.o_proj.weight.copy_(2 * dense.o_proj.weight)
        mixer.q_norm.weight.fill_(loudness[0])
        mixer.k_norm.weight.fill_(loudness[1])


def publish(model: HybridGuide) -> dict[str, Tensor]:
    """The tensors as Qwen3.5 has them; its norms, but for those of states, add one to their weights."""
    tensors = {}
    kinds = model.config.layer_types("linear_attn", "self_attn")
    for name, t in model.state_dict().items():
        if name.endswith("norm.weight") and "mixer.norm" not in name:
            t = t - 1
        if name.endswith("conv1d"):
            name, t = name + ".weight", t.view(-1, 1, model.config.taps)
        if name.startswith("layers."):
            name = name.replace("mixer", kinds[int(name.split(".")[1])])
        tensors["model." + name] = t
    return tensors


def main() -> None:
    args = parse_arguments(__doc__, OUT, hours=0.33, rate=0.004, embedding_rate=5e-4, every=120)
    run(args, lambda vocab_size: DeltaGuide(DeltaConfig(vocab_size)), publish)


if __name__ == "__main__":
    main()
