#!/usr/bin/env python3
"""What it would cost to keep the states of recurrent layers in bf16 instead of f32.

    python3 bench/recurrent_links.py models/city-guide-delta TEXT [--links 100] [--tokens 20]

A text is read link by link by transformers, once with its states as they are and once with all of
them, and the inputs of convolutions, rounded to bf16 at each link's end, as if every link were kept
so and found again. Prints for the first and the last links how far the next tokens' distributions
are apart (Kullback-Leibler divergence, in nats), and how often the likeliest token is another.
Needs torch and transformers.
"""

import argparse
import pathlib

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache


def round_states(cache):
    for layer in cache.layers:
        for name in ("conv_states", "recurrent_states"):
            states = getattr(layer, name, {})  # attention has none
            for key, state in states.items():
                states[key] = state.bfloat16().to(state.dtype)


def read(model, links, rounds):
    """Log-probabilities behind each token: [links][tokens, vocabulary]."""
    cache = DynamicCache(config=model.config)
    for link in links:
        logits = model(input_ids=link[None], past_key_values=cache, use_cache=True).logits[0]
        yield torch.log_softmax(logits.double(), dim=-1)
        if rounds:
            round_states(cache)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--links", type=int, default=100)
    parser.add_argument("--tokens", type=int, default=20, help="of a link")
    args = parser.parse_args()
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    tokens = tokenizer(args.text.read_text(), return_tensors="pt").input_ids[0]
    links = list(tokens[:args.links * args.tokens].split(args.tokens))
    rows = []
    with torch.no_grad():
        for exact, rounded in zip(read(model, links, False), read(model, links, True)):
            apart = (exact.exp() * (exact - rounded)).sum(-1)
            other = (exact.argmax(-1) != rounded.argmax(-1)).double()
            rows.append((apart.mean().item(), apart.max().item(), other.mean().item()))
    print(f"{len(links)} links of {args.tokens} tokens")
    tenth = max(1, len(rows) // 10)
    for name, part in (("first", rows[1:tenth + 1]), ("last", rows[-tenth:])):
        mean, most, other = (list(column) for column in zip(*part))
        print(f"{name} {len(part)}: divergence {sum(mean) / len(part):.2e} (most {max(most):.2e}), "
              f"another likeliest token {100 * sum(other) / len(part):.2f} %")


if __name__ == "__main__":
    main()
