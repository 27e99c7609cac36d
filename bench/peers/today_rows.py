"""The rows of today.py: what is measured of each engine."""

from dataclasses import asdict, dataclass

import floors


@dataclass(frozen=True)
class Row:
    kind: str      # prefill, decode, first or together
    n: int         # tokens that are computed: of the prompt, decoded (by each), or new behind the depth
    depth: int     # tokens that stand before them; together: shared

    @property
    def title(self):
        if self.kind == "prefill":
            return f"prefill {self.n}"
        if self.kind == "decode":
            return f"decode, depth {self.depth}"
        if self.kind == "together":
            return f"{SESSIONS} answers together behind {self.depth}"
        return f"first token, {self.n} new behind {self.depth}"

    def floor_s(self, machine, model):
        """Of a sample's seconds."""
        if self.kind == "together":
            return floors.together_s(machine, model, SESSIONS, self.n, self.depth)
        return floors.floor_s(machine, model, self.computed, self.depth)

    @property
    def computed(self):
        """Tokens of one step, which the floor is of: decoding takes one at a time."""
        return 1 if self.kind == "decode" else self.n

    @property
    def rate_of(self):
        """Tokens that a sample's seconds are for where a row says tokens a second; 0: it says seconds."""
        return {"prefill": self.n, "decode": 1, "together": 1, "first": 0}[self.kind]

    def facts(self):
        return {**asdict(self), "row": self.title, "rate_of": self.rate_of}


DECODED, SESSIONS = 32, 16
ALL = (Row("prefill", 512, 0), Row("prefill", 4096, 0),
       *(Row("decode", DECODED, depth) for depth in (0, 2048, 4096)),
       Row("together", DECODED, 2048), Row("first", 16, 4096), Row("first", 64, 4096))
KINDS = tuple(dict.fromkeys(row.kind for row in ALL))


def rows_of(kinds, shrink=1):
    """Those of these kinds; prompts and depths `shrink` times shorter."""
    return [Row(r.kind, r.n // shrink if r.kind == "prefill" else r.n, r.depth // shrink)
            for r in ALL if r.kind in kinds]


LONGEST_NEW = max(r.n for r in ALL if r.kind == "first")


def new_tokens(tokens, behind, n, number):
    """The n tokens that first token `number` of a run puts behind `behind` others: each number's text
    begins with another token than the text that goes on there, and than those of smaller numbers, so
    that nothing but what stands before is found again."""
    seen, found, at = {tokens[behind]}, [], behind + 1
    while len(found) <= number:
        if at + LONGEST_NEW > len(tokens):
            raise ValueError(f"{len(tokens)} tokens of text are too few for first token {number + 1}")
        if tokens[at] not in seen:
            seen.add(tokens[at])
            found.append(at)
            at += LONGEST_NEW
        at += 1
    return tokens[found[number]:found[number] + n]
