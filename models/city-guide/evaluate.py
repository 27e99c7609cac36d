#!/usr/bin/env python3
"""Asks the trained city guide about held-out worlds, with Hugging Face transformers.

    python3 models/city-guide/evaluate.py                                 the table of the model card
    python3 models/city-guide/evaluate.py --modules prefix                the pages read apart
    python3 models/city-guide/evaluate.py --examples examples/city-guide  the example prompts

An answer counts as right when greedy decoding writes exactly the expected sentence
and then <|end|>.  The table feeds that answer and asks whether each of its tokens is
the likeliest one, which is the same and needs one pass; the examples are generated.
`--modules prefix` hides the pages from each other while they are read (each sees the
system turn and itself), as modules encoded on their own would be; `--modules self`
hides the system turn and the <s> from them, too.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import xml.etree.ElementTree as ET
from pathlib import Path

import torch
from transformers import LlamaForCausalLM

from data import ASSISTANT, BOS, END, SYSTEM, USER, Sample, Shape, Tokenizer, World, write

HERE = Path(__file__).resolve().parent
SHAPES = {
    "1 page of 6 facts": Shape(1, 6, 1),
    "2 pages of 6 facts": Shape(2, 6, 1),
    "4 pages of 6 facts": Shape(4, 6, 1),
    "6 pages of 6 facts": Shape(6, 6, 1),
    "8 pages of 5 facts": Shape(8, 5, 1),
    "12 pages of 8 facts": Shape(12, 8, 1),
    "4 pages, asked about the trip": Shape(4, 6, 0),  # who travels, or which season it is
}
SEED = 1 << 41  # the training seeds and those of train.py's own evaluations stay below


def interval(right: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z, p = 1.96, right / count
    middle = (p + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(p * (1 - p) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return middle - half, middle + half


def module_mask(sample: Sample, length: int, prefix: int) -> torch.Tensor:
    """The additive 4-D mask under which each page sees `prefix` tokens and itself only."""
    allowed = torch.ones(length, length, dtype=torch.bool).tril()
    for start, end in sample.modules:
        allowed[start:end, prefix:start] = False
    return torch.zeros(1, 1, length, length).masked_fill(~allowed, torch.finfo(torch.float32).min)


@torch.no_grad()
def is_right(model: LlamaForCausalLM, tokenizer: Tokenizer, sample: Sample, modules: str) -> bool:
    """Whether greedy decoding answers the first question of the sample as expected."""
    start, end = sample.first
    ids = torch.tensor([sample.ids[:end]])
    mask = None
    if modules != "none":
        system_turn = sample.ids.index(tokenizer.control[END]) + 1
        mask = module_mask(sample, end, system_turn if modules == "prefix" else 0)
    logits = model(input_ids=ids, attention_mask=mask).logits[0]
    return bool((logits[start - 1 : end - 1].argmax(-1) == ids[0, start:end]).all())


def evaluate(model: LlamaForCausalLM, tokenizer: Tokenizer, modules: str, count: int) -> None:
    """Prints one line of the table a shape; all pages of a world tell of the same things."""
    print("| context | mean tokens | right | n | 95 % interval |\n|---|---|---|---|---|")
    for name, shape in SHAPES.items():
        rng = random.Random(SEED + shape.pages)
        right = tokens = done = 0
        while done < count:
            world = World(rng, shape, shared=1.0, ask_about_trip=not shape.questions)
            sample = write(rng, tokenizer, world)
            if not world.questions:
                continue
            done += 1
            tokens += sample.first[0]
            right += is_right(model, tokenizer, sample, modules)
        low, high = interval(right, count)
        share = f"{right / count:.1%} | {count} | {low:.1%} to {high:.1%}"
        print(f"| {name} | {tokens / count:.0f} | {share} |", flush=True)


def fold(text: str | None) -> str:
    """A run as a runtime takes it: white space at either end is one space, alone it is nothing."""
    if not text or not text.strip():
        return ""
    return " " * text[0].isspace() + text.strip() + " " * text[-1].isspace()


class Flattener:
    """Writes a prompt as ids: the schema's system turn, then what the prompt says, in its order."""

    ROLES = {"system": SYSTEM, "user": USER, "assistant": ASSISTANT}

    def __init__(self, tokenizer: Tokenizer, schema: Path) -> None:
        self.tokenizer = tokenizer
        self.folder = schema.parent
        self.root = ET.parse(schema).getroot()
        self.modules = {m.get("name"): m for m in self.root.iter("module")}

    def _role(self, element: ET.Element, body: list[int]) -> list[int]:
        control = self.tokenizer.control
        return [control[self.ROLES[element.tag]], *body, control[END]]

    def _module(self, element: ET.Element) -> list[int]:
        """An import: the module's own text with its arguments, then what stands inside the import."""
        module = self.modules[element.tag]
        encode = self.tokenizer.encode_whole
        source = module.get("src")
        ids = encode(fold((self.folder / source).read_text())) if source else encode(fold(module.text))
        for child in module:
            if child.tag == "param":
                ids += encode(element.get(child.get("name"), "")) + encode(fold(child.tail))
        return ids + self._content(element)

    def _content(self, element: ET.Element) -> list[int]:
        ids = self.tokenizer.encode_whole(fold(element.text))
        for child in element:
            if child.tag in self.ROLES:
                ids += self._role(child, self._content(child))
            else:
                ids += self._module(child)
            ids += self.tokenizer.encode_whole(fold(child.tail))
        return ids

    def flatten(self, prompt: Path) -> list[int]:
        control = self.tokenizer.control
        ids = [control[BOS]]
        for child in self.root:
            if child.tag in self.ROLES:
                ids += self._role(child, self._content(child))
        return [*ids, *self._content(ET.parse(prompt).getroot()), control[ASSISTANT]]


def run_examples(model: LlamaForCausalLM, tokenizer: Tokenizer, folder: Path) -> bool:
    """Generates the answer of every prompt named in expected.json; true when all are as expected."""
    flattener = Flattener(tokenizer, folder / "city-guide.pml")
    good = True
    for name, expected in json.loads((folder / "expected.json").read_text()).items():
        ids = flattener.flatten(folder / name)
        out = model.generate(
            torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            max_new_tokens=40, do_sample=False, eos_token_id=tokenizer.control[END], pad_token_id=0,
        )[0, len(ids) :].tolist()
        answer = tokenizer.decode(out)
        good &= answer == expected
        print(f"{'ok   ' if answer == expected else 'WRONG'} {name} ({len(ids)} tokens): {answer}")
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=HERE, help="the checkpoint's folder")
    parser.add_argument("--modules", choices=("none", "prefix", "self"), default="none")
    parser.add_argument("--count", type=int, default=500, help="worlds a line of the table")
    parser.add_argument("--examples", type=Path, help="a folder of prompts with their expected.json")
    args = parser.parse_args()
    tokenizer = Tokenizer(args.model / "tokenizer.model")
    model = LlamaForCausalLM.from_pretrained(args.model, dtype=torch.float32).eval()
    if args.examples:
        raise SystemExit(0 if run_examples(model, tokenizer, args.examples) else 1)
    evaluate(model, tokenizer, args.modules, args.count)


if __name__ == "__main__":
    main()
