"""Requests of a trace: when they come, what computing them costs, and as many for more nodes."""

import json
import random
from typing import List, NamedTuple, Sequence

BLOCK = 512
NODES_OF_A_TRACE = 100
# Of TinyLlama-1.1B's shape (traces_bench): seconds of a token, and more for each that it sees.
TOKEN_S, DEPTH_S = 3.3376e-3, 4.508e-7


class Request(NamedTuple):
    at: float
    blocks: Sequence[int]
    n_tokens: int


def cost(first: int, tokens: int) -> float:
    """Seconds to compute so many tokens behind the first ones."""
    return tokens * (TOKEN_S + DEPTH_S * (first + tokens / 2))


def read(path: str) -> List[Request]:
    requests = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                fields = json.loads(line)
                requests.append(Request(fields["timestamp"] / 1e3, tuple(fields["hash_ids"]),
                                        fields["input_length"]))
            except (ValueError, KeyError, TypeError) as wrong:
                raise SystemExit(f"{path}:{number} is no line of a trace: {wrong!r}") from wrong
    return sorted(requests, key=lambda r: r.at)


def conversation(request: Request) -> int:
    """The first block stands before all of them."""
    return request.blocks[min(1, len(request.blocks) - 1)] if request.blocks else 0


def spread_over(requests: List[Request], n_nodes: int) -> List[Request]:
    """As much for each node as a hundred have of the trace."""
    if n_nodes < NODES_OF_A_TRACE:
        return [r for r in requests
                if conversation(r) * 7919 % NODES_OF_A_TRACE < n_nodes]
    copies = n_nodes // NODES_OF_A_TRACE
    length = requests[-1].at + 1
    shift = 1 + max(block for r in requests for block in r.blocks)
    first = requests[0].blocks[:1]
    many = [Request((r.at + c * length / copies) % length,
                    tuple(b if (b,) == first else b + c * shift for b in r.blocks), r.n_tokens)
            for c in range(copies) for r in requests]
    return sorted(many, key=lambda r: r.at)


def crowd(requests: List[Request], share: float, n_blocks: int) -> List[Request]:
    """From the middle on for a tenth of the time, a share of the requests begin with one text."""
    begin = requests[len(requests) // 2].at
    end = begin + requests[-1].at / 10
    text = tuple(range(-n_blocks, 0))
    draw = random.Random(5)
    return [Request(r.at, r.blocks[:1] + text + r.blocks[1:], r.n_tokens + n_blocks * BLOCK)
            if begin <= r.at < end and draw.random() < share else r for r in requests]
