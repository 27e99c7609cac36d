"""Which pieces a question is about: by words, by vectors, and by both."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence

from .index import Index
from .vectors import Vectors

__all__ = ["fused", "ranked", "words_of"]

# Reciprocal rank fusion: a piece gets 1 / (60 + rank) of each list (Cormack et al., SIGIR 2009).
_K = 60
_DEPTH = 50  # pieces of each list
_MOST_WORDS = 64  # of a question; the first
_FEW = 1000  # pieces: with so many a word's search takes no time that counts


def words_of(question: str) -> List[str]:
    """A question's words, each once, as strings of FTS5: in quotes nothing is an operator, and a word
    has no quote."""
    words = re.findall(r"\w+", question.lower())
    return [f'"{word}"' for word in list(dict.fromkeys(words))[:_MOST_WORDS]]


def fused(rankings: Sequence[Sequence[int]]) -> List[int]:
    """One ranking of several, the best first; of equals the one that came first."""
    scores: Dict[int, float] = {}
    for ranking in rankings:
        for rank, number in enumerate(ranking, 1):
            scores[number] = scores.get(number, 0.0) + 1 / (_K + rank)
    return sorted(scores, key=lambda number: -scores[number])


def ranked(index: Index, vectors: Optional[Vectors], question: str, n: int) -> List[int]:
    """Numbers of the n best pieces, the best first; fewer where there are fewer."""
    question = question.encode("utf-8", "replace").decode("utf-8")  # no halves of surrogate pairs
    depth = max(n, _DEPTH)
    rankings = [_by_words(index, question, depth)]
    if vectors is not None and question.strip():
        rankings.append(vectors.nearest(question, depth))
    return fused(rankings)[:n]


def _by_words(index: Index, question: str, n: int) -> List[int]:
    """By BM25; a word of the headings counts as two."""
    words = _telling(index, words_of(question))
    if not words:
        return []
    rows = index.rows(
        "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words, 2.0, 1.0) LIMIT ?",
        " OR ".join(words), n,
    )  # fmt: skip
    return [row[0] for row in rows]


def _telling(index: Index, words: List[str]) -> List[str]:
    """The words that are in some pieces, but not in an eighth of all, unless there are only such: of
    10,000 documents that takes a search from 55 ms to 11, and what it leaves out counts for little
    to BM25."""
    most = max(_FEW, int(index.row("SELECT coalesce(max(id), 0) FROM pieces")[0]) // 8)
    counts = {
        word: int(
            index.row(
                "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)", word, most
            )[0]
        )
        for word in words
    }
    there = [word for word in words if counts[word]]
    return [word for word in there if counts[word] < most] or there
