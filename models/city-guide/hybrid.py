"""What the city guides with recurrent layers have in common (delta.py and mamba.py make them).

Most layers keep a state in place of keys and values. The trained dense guide is the start:
a layer begins with the network of one of its layers, and with its attention where it attends. Some
recurrent layers learn, before the training, to give what the dense guide's attention gives there:
that of its first layer only brings the three tokens before, which a convolution and a short memory
can, too. Other recurrent layers and new networks begin by adding nothing. The rest is train.py's,
and all weights are trained.
"""

from __future__ import annotations

import random
import shutil
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from data import Tokenizer, batches
from model import Config, Llama, Mlp, Norm
from train import HERE, collate, train

MEMORY = (4.0, 400.0)  # tokens after which a head has forgotten, of the first and of the last head
IMITATION = 300  # steps


@dataclass(frozen=True)
class HybridConfig(Config):
    taps: int = 4  # of the convolutions
    state_heads: int = 4
    value_dim: int = 64  # of a head
    key_dim: int = 64
    begins: tuple[tuple[int, int], ...] = ()  # a layer, and which of the dense guide's it begins as
    attending: tuple[int, ...] = ()
    imitating: tuple[int, ...] = ()  # recurrent layers that learn to be that one's attention

    @property
    def values(self) -> int:
        return self.state_heads * self.value_dim

    def layer_types(self, recurrent: str, attention: str) -> list[str]:
        return [attention if i in self.attending else recurrent for i in range(self.layers)]


def taps(channels: int, n: int) -> nn.Parameter:
    """A convolution's weights, flat, so that train.py takes them for no matrix."""
    return nn.Parameter((2 * torch.rand(channels * n) - 1) * n**-0.5)


def step_bias(heads: int) -> nn.Parameter:
    """What softplus makes the inverses of the memories, which lie evenly in their logarithms."""
    steps = 1 / torch.logspace(*torch.tensor(MEMORY).log10().tolist(), heads)
    return nn.Parameter(steps.expm1().log())


def heads_first(x: Tensor, heads: int) -> Tensor:
    """[batch, length, heads * n] as [batch, heads, length, n], in f32."""
    return x.float().unflatten(-1, (heads, -1)).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, c: HybridConfig, mixer: nn.Module) -> None:
        super().__init__()
        self.input_layernorm = Norm(c.hidden, c.eps)
        self.mixer = mixer
        self.post_attention_layernorm = Norm(c.hidden, c.eps)
        self.mlp = Mlp(c)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.mixer(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class HybridGuide(Llama):
    """A Llama some of whose layers are recurrent. Mixers of tokens end in `o_proj` or `out_proj`."""

    def __init__(self, c: HybridConfig, recurrent: Callable[[], nn.Module], attention: Callable[[], nn.Module],
                 cos: Tensor, sin: Tensor) -> None:
        super().__init__(c, copying=False)
        self.layers = nn.ModuleList(
            Block(c, attention() if i in c.attending else recurrent()) for i in range(c.layers))
        self.cos, self.sin = cos, sin
        for name, p in self.named_parameters():
            if p.dim() == 2 and "embed" not in name:
                silent = "o_proj" in name or "out_proj" in name or "down_proj" in name
                nn.init.normal_(p, std=0.0 if silent else 0.5 * p.shape[1] ** -0.5)

    def take_attention(self, mixer: nn.Module, dense: nn.Module, loudness: tuple[float, float]) -> None:
        """Begins an attention as the dense guide's, whose queries and keys are so loud (root mean squares)."""
        mixer.load_state_dict(dense.state_dict())

    @torch.no_grad()
    def start_from(self, dense: Llama, loudness: list[tuple[float, float]]) -> None:
        self.embed_tokens.load_state_dict(dense.embed_tokens.state_dict())
        self.norm.load_state_dict(dense.norm.state_dict())
        for i, j in self.config.begins:
            layer, old = self.layers[i], dense.layers[j]
            for part in ("input_layernorm", "post_attention_layernorm", "mlp"):
                getattr(layer, part).load_state_dict(getattr(old, part).state_dict())
            if i in self.config.attending:
                self.take_attention(layer.mixer, old.self_attn, loudness[j])


@torch.no_grad()
def loudness_of(dense: Llama, tokenizer: Tokenizer) -> list[tuple[float, float]]:
    """The root mean squares of each layer's queries and keys, over one batch of text."""
    heard: dict[nn.Module, float] = {}
    linears = [part for layer in dense.layers for part in (layer.self_attn.q_proj, layer.self_attn.k_proj)]
    hooks = [part.register_forward_hook(lambda p, _, y: heard.update({p: y.square().mean().sqrt().item()}))
             for part in linears]
    dense.hidden(next(text(tokenizer)))
    for hook in hooks:
        hook.remove()
    values = [heard[part] for part in linears]
    return list(zip(values[::2], values[1::2]))


def text(tokenizer: Tokenizer) -> Iterator[Tensor]:
    """Endless batches of ids, of worlds of several sizes."""
    rng = random.Random(0)
    for batch in batches(0, tokenizer, lambda: 2, 2048):
        yield collate(batch, rng)[0]


@torch.no_grad()
def attentions(dense: Llama, ids: Tensor) -> list[tuple[Tensor, Tensor]]:
    """What goes into each layer's attention, and what comes out."""
    cos, sin = dense.cos[: ids.shape[1]], dense.sin[: ids.shape[1]]
    x, seen = dense.embed_tokens(ids), []
    for layer in dense.layers:
        normed = layer.input_layernorm(x)
        seen.append((normed, layer.self_attn(normed, cos, sin)))
        x = layer(x, cos, sin)
    return seen


def imitate(model: HybridGuide, dense: Llama, tokenizer: Tokenizer) -> list[float]:
    """Trains mixers to give what the dense guide's attention gives; the shares of squares that they miss."""
    begins = dict(model.config.begins)
    mixers = [(model.layers[i].mixer, begins[i]) for i in model.config.imitating]
    adam = torch.optim.Adam([p for mixer, _ in mixers for p in mixer.parameters()], lr=0.0)
    missed = torch.ones(len(mixers))
    for step, ids in zip(range(IMITATION), text(tokenizer)):
        seen = attentions(dense, ids)
        cos, sin = model.cos[: ids.shape[1]], model.sin[: ids.shape[1]]
        shares = torch.stack([(mixer(seen[j][0], cos, sin) - seen[j][1]).square().sum() / seen[j][1].square().sum()
                              for mixer, j in mixers])
        shares.sum().backward()
        adam.param_groups[0]["lr"] = 0.005 * min(1.0, step / 20) * (1 - step / IMITATION)
        adam.step()
        model.zero_grad()
        missed.lerp_(shares.detach(), 0.1)
    return missed.tolist()


def dense_guide(tokenizer: Tokenizer) -> Llama:
    dense = Llama(Config(tokenizer.vocab_size), copying=False)
    tensors = load_file(HERE / "model.safetensors")
    dense.load_state_dict({name.removeprefix("model."): t.float() for name, t in tensors.items()})
    return dense


def run(args: Namespace, make: Callable[[int], HybridGuide],
        publish: Callable[[HybridGuide], dict[str, Tensor]]) -> None:
    """The whole training, and the checkpoint in F16 under the names that `publish` gives the tensors."""
    for name in ("tokenizer.model", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(HERE / name, args.out / name)
    tokenizer = Tokenizer(args.out / "tokenizer.model")
    torch.manual_seed(0)
    model = make(tokenizer.vocab_size)
    if not (args.out / "checkpoints" / "last.pt").exists():
        dense = dense_guide(tokenizer)
        model.start_from(dense, loudness_of(dense, tokenizer))
        missed = imitate(model, dense, tokenizer)
        with open(args.out / "train.log", "a") as file:
            for i, share in zip(model.config.imitating, missed):
                file.write(f"# layer {i} misses {share:.1%} of what it imitates, in {IMITATION} steps\n")
    train(model, tokenizer, args)
    export(model, publish(model), args.out)


def export(model: HybridGuide, tensors: dict[str, Tensor], folder: Path) -> None:
    tensors = {name: t.detach().to(torch.float16).contiguous() for name, t in tensors.items()}
    save_file(tensors, str(folder / "model.safetensors"), metadata={"format": "pt"})
    (folder / "config.json").write_text(model.config.to_json())
