#!/usr/bin/env python3
"""Question: to which tokens of a prompt does the question behind its modules attend?

    python3 bench/answers/sinks.py FILE.gguf --data FOLDER [--set squad] [--n 25] [--attend prefix|self]
                                   [--frame turns|text]

Method: transformers (5.23, torch 2.15) computes each prompt once in f32, with the mask that makes
the states what modules are encoded to: a document's tokens see the prefix and their own document
(`self`: the document alone), what comes behind the documents sees everything. What its rows give to
the prefix and to each document, in all layers and heads, is printed in per cent of what these get
together: all of it, the first token's, the last four tokens'. Nothing of promptcache takes part.
"""

import argparse
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import questions  # noqa: E402
import sets  # noqa: E402

MARK = "\x01"  # stands where the documents do; no text of a set holds it


def parts(tokenizer, made, question):
    """Token ids of the prefix, of each document, and of what is behind them."""
    if made.frame == "system":
        turns = [{"role": "system", "content": made.instruction},
                 {"role": "user", "content": MARK + question.text}]
        before, behind = tokenizer.apply_chat_template(turns, tokenize=False,
                                                       add_generation_prompt=True).split(MARK)
        start = []
    elif made.frame == "text":
        before, behind = made.instruction, question.text
        start = [tokenizer.bos_token_id]
    else:
        raise ValueError(f"the set {made.name} writes turns of its own: take another")
    texts = [before, *(made.documents[d] for d in question.documents), behind]
    ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    return [start + ids[0], *ids[1:]]


def seen(sizes, attend, window=None):
    """[n, n] bool: what each token may look at. window: how far back a row looks, None: all."""
    n = sum(sizes)
    at = torch.arange(n)
    part = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    same = part[:, None] == part[None, :]
    prefix = (part == 0)[None, :] & (attend == "prefix")
    behind = (part == len(sizes) - 1)[:, None]
    allowed = (at[None, :] <= at[:, None]) & (same | prefix | behind)
    return allowed & (at[:, None] - at[None, :] < window) if window else allowed


def additive(allowed):
    """[1, 1, n, n] f32: 0 where a row may look."""
    return torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo(torch.float32).min)[None, None]


def masks(config, sizes, attend):
    window = getattr(config, "sliding_window", None)
    full = additive(seen(sizes, attend))
    if "sliding_attention" not in (getattr(config, "layer_types", None) or ()):
        return full
    return {"full_attention": full, "sliding_attention": additive(seen(sizes, attend, window))}


@torch.no_grad()
def given(model, ids, attend):
    """[part, 3] f64: what is given to each part but the last: to all of it, its first token, its
    last four; in shares of what they get together."""
    sizes = [len(x) for x in ids]
    start_of_question = sum(sizes[:-1])
    out = model(torch.tensor([sum(ids, [])]), attention_mask=masks(model.config, sizes, attend),
                position_ids=torch.arange(sum(sizes))[None], use_cache=False, output_attentions=True)
    weights = sum(a[0, :, start_of_question:, :start_of_question].double().sum((0, 1))
                  for a in out.attentions)
    pieces = torch.split(weights, sizes[:-1])
    table = torch.stack([torch.stack([p.sum(), p[0], p[-4:].sum()]) for p in pieces])
    return table / weights.sum()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--set", default="squad", help=", ".join(sets.NAMES))
    parser.add_argument("--data", type=Path, help="the folder of published sets")
    parser.add_argument("--n", type=int, default=25, help="questions, at most")
    parser.add_argument("--attend", choices=("prefix", "self"), default="prefix")
    parser.add_argument("--frame", choices=("turns", "text"), default="turns")
    return parser.parse_args()


def main():
    a = arguments()
    try:
        made = sets.read(a.set, a.data, None, a.n)
        if a.frame == "text":
            made = questions.in_text(made)
        tokenizer = AutoTokenizer.from_pretrained(a.model.parent, gguf_file=a.model.name)
        model = AutoModelForCausalLM.from_pretrained(a.model.parent, gguf_file=a.model.name,
                                                     dtype=torch.float32, attn_implementation="eager")
        tables = [given(model, parts(tokenizer, made, q), a.attend) for q in made.questions]
    except (OSError, ValueError) as e:
        sys.exit(f"sinks.py: {e}")
    mean = torch.stack(tables).mean(0) * 100
    print(f"{made.name}, {a.model.name}, {len(tables)} questions, attend=\"{a.attend}\": "
          "% of the attention to prefix and documents")
    print("              all  first token  last four")
    for i, (whole, first, last) in enumerate(mean.tolist()):
        name = "prefix" if i == 0 else f"document {i}"
        print(f"{name:<11}{whole:>6.1f}{first:>13.1f}{last:>11.1f}")


if __name__ == "__main__":
    main()
