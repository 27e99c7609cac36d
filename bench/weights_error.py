#!/usr/bin/env python3
"""How far do 8-bit activations move the logits of a quantised model?

    python3 bench/weights_error.py MODEL.gguf... [--demo | --llama-cpp] [--count 30]
                                   [--library build/runtime/libpromptcache.so]

The logits of the prompt's last token with packed weights, where activations are rounded to 8
bits (simd/quantised_rows.h), against the same blocks widened to f32 and f32 activations: the
difference's length over the logits', by full prefill. States are f32 in both. Prompts are
430 random words, --count of them (6), or with --demo, for GGUF files of the demo model
(bench/make_gguf.py), --count questions of each size (30) about worlds it never saw. PC_ISA
chooses the kernels; packed weights go into a folder that is removed at the end. --llama-cpp
has a second line for each file: the logits of PyPI's llama-cpp-python, at its defaults but
for --count prompts of the same tokens, against the same f32 ones.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

from states_error import ROOT, error, logits, measure, texts, top, words, worlds


def llama_logits(llama, text, question):
    """Tokenised apart, as a module and the text behind it are."""
    tokens = [llama.tokenize(part.encode(), add_bos=part is text) for part in (text, question)]
    llama.reset()
    llama.eval(tokens[0] + tokens[1])
    import llama_cpp
    return llama_cpp.llama_get_logits(llama.ctx)[:llama.n_vocab()]


def print_row(name, pairs):
    errors = [error(got, exact) for got, exact in pairs]
    same = sum(top(got) == top(exact) for got, exact in pairs)
    print(f"| {name} | {statistics.median(errors):.2%} | {max(errors):.2%} "
          f"| {same} of {len(pairs)} |", flush=True)


def packed_logits(library, model, prompts):
    with tempfile.TemporaryDirectory() as cache:
        runtime = measure.Runtime(library, model, "f32", Path(cache))
        if not any((Path(cache) / "packed").glob("?" * 64)):
            raise SystemExit(f"{model} was not packed: it has no quantised matrices, or PC_ISA "
                             "no integer kernel")
        return [logits(runtime, *pml, False) for pml in prompts]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--demo", action="store_true", help="the files are of the demo model")
    kind.add_argument("--llama-cpp", action="store_true", help="llama-cpp-python's logits too")
    parser.add_argument("--count", type=int, help="prompts; default: 6, of --demo 30 of each size")
    parser.add_argument("--library", type=Path, default=ROOT / "build/runtime/libpromptcache.so")
    a = parser.parse_args()
    prompts = list(worlds(a.count or 30) if a.demo else words(a.count or 6))
    print("| model | median | largest | the same token likeliest |\n|--|--|--|--|")
    for model in a.models:
        widened = measure.Runtime(a.library, model, "f32")
        exact = [logits(widened, *pml, False) for pml in prompts]
        print_row(model.name, list(zip(packed_logits(a.library, model, prompts), exact)))
        if a.llama_cpp:
            from llama_cpp import Llama
            llama = Llama(str(model), n_ctx=2048, n_batch=2048, verbose=False)
            got = [llama_logits(llama, *both) for both in texts(len(prompts))]
            print_row(f"{model.name}, llama.cpp", list(zip(got, exact)))


if __name__ == "__main__":
    main()
