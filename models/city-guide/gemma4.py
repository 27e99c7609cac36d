#!/usr/bin/env python3
"""Trains a city guide of Gemma 4's shape on a CPU, from a random start.

    python3 models/city-guide/gemma4.py --hours 0.25

Layers with a window in turn with layers that see all, whose heads are wider; the upper half reads
the states of the lower one; embeddings of a layer's own; norms of queries, keys and values. The
text and the loss are those of train.py. The checkpoint is exported to models/city-guide-gemma4: it
is to have the ranges of trained weights, not to answer well (its README says how well it does).
"""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import Gemma4ForCausalLM, Gemma4TextConfig

from data import Tokenizer
from train import HERE, parse_arguments, train

OUT = HERE.parent / "city-guide-gemma4"
WINDOW = 64  # tokens; a page has about 50


def shape(vocab_size: int) -> Gemma4TextConfig:
    return Gemma4TextConfig(
        vocab_size=vocab_size, vocab_size_per_layer_input=vocab_size, hidden_size=96,
        intermediate_size=192, num_hidden_layers=6, num_kv_shared_layers=2,
        layer_types=["sliding_attention", "full_attention"] * 3, sliding_window=WINDOW,
        num_attention_heads=4, num_key_value_heads=1, head_dim=32, global_head_dim=64,
        hidden_size_per_layer_input=16, use_double_wide_mlp=True, max_position_embeddings=2048,
        rms_norm_eps=1e-6, bos_token_id=1, eos_token_id=2, pad_token_id=None,
        attn_implementation="sdpa")


class GemmaGuide(nn.Module):
    """The calls that train.py makes of a model."""

    def __init__(self, config: Gemma4TextConfig) -> None:
        super().__init__()
        self.config = (f"{config.num_hidden_layers} layers, width {config.hidden_size}, window "
                       f"{config.sliding_window}, {config.num_kv_shared_layers} layers that share")
        self.whole = Gemma4ForCausalLM(config)

    def hidden(self, ids: Tensor) -> Tensor:
        return self.whole.model(input_ids=ids, use_cache=False).last_hidden_state

    def logits(self, states: Tensor) -> Tensor:
        logits = self.whole.lm_head(states)
        cap = self.whole.config.final_logit_softcapping
        return logits if cap is None else cap * torch.tanh(logits / cap)

    def penalty(self) -> float:
        return 0.0


def main() -> None:
    args = parse_arguments(__doc__, OUT, hours=0.25, rate=0.008, embedding_rate=2e-3, every=120)
    for name in ("tokenizer.model", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(HERE / name, args.out / name)
    tokenizer = Tokenizer(args.out / "tokenizer.model")
    torch.manual_seed(0)
    model = GemmaGuide(shape(tokenizer.vocab_size))
    train(model, tokenizer, args)
    model.whole.to(torch.float16).save_pretrained(args.out)


if __name__ == "__main__":
    main()
