"""A small Llama, with the parameter names of the Hugging Face layout."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Config:
    vocab_size: int
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    ffn: int = 384
    rope_theta: float = 500000.0
    eps: float = 1e-5
    max_positions: int = 2048

    def to_json(self) -> str:
        """The config.json of the checkpoint."""
        fields = {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden,
            "intermediate_size": self.ffn,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "hidden_act": "silu",
            "max_position_embeddings": self.max_positions,
            "rms_norm_eps": self.eps,
            "rope_parameters": {"rope_type": "default", "rope_theta": self.rope_theta},
            "tie_word_embeddings": True,
            "attention_bias": False,
            "mlp_bias": False,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "pad_token_id": None,
            "dtype": "float16",
        }
        return json.dumps(fields, indent=2) + "\n"


def rope(config: Config, length: int) -> tuple[Tensor, Tensor]:
    """cos and sin of every position, each [length, head_dim], halves repeated."""
    half = torch.arange(0, config.head_dim, 2).float() / config.head_dim
    angles = torch.outer(torch.arange(length).float(), config.rope_theta**-half)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention; in bf16 and at these lengths plain products are the faster way."""
    length = q.shape[2]
    if q.dtype != torch.bfloat16 or length > 384:
        return F.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True)
    mask = torch.full((length, length), float("-inf"), dtype=q.dtype).triu(1)
    scores = torch.baddbmm(mask, q.flatten(0, 1), k.flatten(0, 1).mT, alpha=q.shape[3] ** -0.5)
    return (torch.softmax(scores, -1, dtype=q.dtype) @ v.flatten(0, 1)).view_as(q)


class Attention(nn.Module):
    def __init__(self, c: Config) -> None:
        super().__init__()
        self.c = c
        self.q_proj = nn.Linear(c.hidden, c.heads * c.head_dim, bias=False)
        self.k_proj = nn.Linear(c.hidden, c.kv_heads * c.head_dim, bias=False)
        self.v_proj = nn.Linear(c.hidden, c.kv_heads * c.head_dim, bias=False)
        self.o_proj = nn.Linear(c.heads * c.head_dim, c.hidden, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, _ = x.shape

        def split(y: Tensor) -> Tensor:
            return y.view(batch, length, -1, self.c.head_dim).transpose(1, 2)

        q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
        q, k = rotate(q, cos, sin).to(v.dtype), rotate(k, cos, sin).to(v.dtype)
        groups = self.c.heads // self.c.kv_heads
        if groups > 1:
            k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        y = attend(q, k, v)
        return self.o_proj(y.transpose(1, 2).reshape(batch, length, -1))


class Mlp(nn.Module):
    def __init__(self, c: Config) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(c.hidden, c.ffn, bias=False)
        self.up_proj = nn.Linear(c.hidden, c.ffn, bias=False)
        self.down_proj = nn.Linear(c.ffn, c.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Norm(nn.Module):
    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.weight, self.eps)


class Block(nn.Module):
    def __init__(self, c: Config) -> None:
        super().__init__()
        self.input_layernorm = Norm(c.hidden, c.eps)
        self.self_attn = Attention(c)
        self.post_attention_layernorm = Norm(c.hidden, c.eps)
        self.mlp = Mlp(c)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    """`hidden(ids)` gives the final states, `logits(states)` the vocabulary's scores.

    The weights start at random or, with `copying`, able to copy (see _start_by_copying).
    """

    block = Block

    def __init__(self, c: Config, copying: bool = True) -> None:
        super().__init__()
        self.config = c
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden)
        self.layers = nn.ModuleList(self.block(c) for _ in range(c.layers))
        self.norm = Norm(c.hidden, c.eps)
        cos, sin = rope(c, c.max_positions)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                zero = "o_proj" in name or "down_proj" in name
                std = 0.05 if "embed" in name else 0.0 if zero else 0.5 * p.shape[1] ** -0.5
                nn.init.normal_(p, std=std)
        if copying:
            self._start_by_copying()

    @torch.no_grad()
    def _start_by_copying(self) -> None:
        """Sets the first two layers to copy: what followed these three tokens before, follows again.

        Small models find this pattern (an induction head) by themselves, but only after many
        millions of tokens; everything else is learned.  The residual stream begins as 64 places
        for the token, three times 21 for sketches of the tokens 1, 2 and 3 before it, and one
        constant.  Layer 0 fills the sketches, by heads that look at a fixed distance; in layer 1
        two heads seek the position whose sketches match the last three tokens, in the slowly
        turning half of their dimensions, and bring its token.
        """
        c = self.config
        assert (c.hidden, c.heads, c.kv_heads, c.head_dim) == (128, 4, 2, 64), "made for this shape"
        d, token, sketch, constant = c.head_dim, 64, 21, 127
        embed = self.embed_tokens.weight
        nn.init.normal_(embed, std=0.1)
        embed[:, token:] = 0.0
        embed[:, constant] = 0.4
        sketcher = torch.linalg.qr(torch.randn(token, sketch))[0].T  # 21 orthonormal rows

        first = self.layers[0].self_attn
        for w in (first.q_proj.weight, first.k_proj.weight, first.v_proj.weight):
            w.mul_(0.1)
        for kv in range(2):
            for i in range(6):
                first.k_proj.weight[kv * d + i, constant] = 1.5
            first.v_proj.weight[kv * d : kv * d + sketch, :token] = sketcher
        for head, distance in ((0, 1), (1, 2), (2, 3)):
            for i in range(6):
                angle = torch.tensor(distance * c.rope_theta ** (-2 * i / d))
                first.q_proj.weight[head * d + i, constant] = 1.5 * angle.cos()
                first.q_proj.weight[head * d + i + d // 2, constant] = -1.5 * angle.sin()
            place = token + (distance - 1) * sketch
            for i in range(sketch):
                first.o_proj.weight[place + i, head * d + i] = 0.1

        second = self.layers[1].self_attn
        for w in (second.q_proj.weight, second.k_proj.weight, second.v_proj.weight):
            w.mul_(0.1)
        slow = [*range(d // 4, d // 2), *range(3 * d // 4, d)]
        for kv, part in ((0, range(0, 11)), (1, range(11, 21))):
            dims = iter(slow)
            for distance in (1, 2, 3):
                for i in part:
                    dim = next(dims, None)
                    if dim is None:
                        break
                    place = token + (distance - 1) * sketch + i
                    second.k_proj.weight[kv * d + dim, place] = 1.9
                    if distance == 1:
                        second.q_proj.weight[2 * kv * d + dim, :token] = 1.9 * sketcher[i]
                    else:
                        second.q_proj.weight[2 * kv * d + dim, place - sketch] = 1.9
            for i in range(token):
                second.v_proj.weight[kv * d + i, i] = 1.0
                second.o_proj.weight[i, 2 * kv * d + i] = 0.15

    def hidden(self, ids: Tensor) -> Tensor:
        x = self.embed_tokens(ids)
        cos, sin = self.cos[: ids.shape[1]], self.sin[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.norm(x)

    def logits(self, states: Tensor) -> Tensor:
        return F.linear(states, self.embed_tokens.weight)

    def penalty(self) -> Tensor | float:
        """What is added to the loss of the batch last seen."""
        return 0.0


def export(model: Llama, folder: Path) -> None:
    """Writes config.json and model.safetensors (F16) for Hugging Face readers."""
    from safetensors.torch import save_file

    tensors = {"model." + k: v.detach().to(torch.float16).contiguous() for k, v in model.state_dict().items()}
    save_file(tensors, str(folder / "model.safetensors"), metadata={"format": "pt"})
    (folder / "config.json").write_text(model.config.to_json())
