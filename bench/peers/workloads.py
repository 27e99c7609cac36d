"""Loads for bench/load_bench and for llama.cpp: who asks what, when. Format: bench/workload.h.

Words are drawn from those that make_vocabulary.py made one token each; the same seed gives the
same load, so that both programs answer the same requests at the same times.
"""

import itertools
import random
import string

LETTERS = string.ascii_lowercase


def words(draw, n):
    """n words of three letters, n tokens. A space before each: else it is spelled in letters."""
    return "".join(" " + "".join(draw.choices(LETTERS, k=3)) for _ in range(n))


def request(at, modules, text, answer):
    return {"at": at, "modules": modules, "text": text, "answer": answer}


def shared(seed, cached=4096, requests=16, answer=32):
    """Everybody at once behind one module, which is there already; short questions."""
    draw = random.Random(seed)
    return {"modules": {"m0": words(random.Random(0), cached)}, "warm": [["m0"]],
            "requests": [request(0, ["m0"], words(draw, 4), answer) for _ in range(requests)]}


def orders(seed, warm=True, tokens=512, requests=16, answer=32):
    """Everybody at once behind the same four modules, each in an order of its own.

    Warm: each module was asked for alone before; llama.cpp then has each as a beginning. Else
    nothing is there, and the words are others for each seed.
    """
    draw = random.Random(seed)
    text = random.Random(0) if warm else draw
    modules = {f"m{i}": words(text, tokens) for i in range(4)}
    chosen = draw.sample(list(itertools.permutations(modules)), requests)
    return {"modules": modules, "warm": [[m] for m in modules] if warm else [],
            "requests": [request(0, list(order), words(draw, 8), answer) for order in chosen]}


def mixed(seed, rate, requests=40, documents=8, cached=1920, own=128, short=64, answer=64):
    """Poisson arrivals, so many a second: half behind a document out of a few and with words of
    their own, half short ones."""
    draw, at, asked = random.Random(seed), 0.0, []
    modules = {f"m{i}": words(random.Random(i), cached) for i in range(documents)}
    kinds = [True, False] * ((requests + 1) // 2)
    draw.shuffle(kinds)
    for long in kinds[:requests]:
        at += draw.expovariate(rate)
        asked.append(request(at, [f"m{draw.randrange(documents)}"] if long else [],
                             words(draw, own if long else short), answer))
    return {"modules": modules, "warm": [[m] for m in modules], "requests": asked}
