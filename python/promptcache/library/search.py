"""Which pieces a question is about: by words, by vectors, and by both."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence

from .index import Index
from .vectors import Vectors

__all__ = ["fused", "ranked", "words_query"]

# Reciprocal rank fusion: a piece gets 1 / (60 + rank) of each list (Cormack et al., SIGIR 2009).
_K = 60
_DEPTH = 50  # pieces of each list
_MOST_WORDS = 64  # of a question; the first


def words_query(question: str) -> str:
    """Any of the question's words, as FTS5 asks for them; "" where it has none. In quotes nothing
    is an operator, and a word has no quote."""
    words = re.findall(r"\w+", question.lower())
    return " OR ".join(f'"{word}"' for word in list(dict.fromkeys(words))[:_MOST_WORDS])


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
    query = words_query(question)
    if not query:
        return []
    rows = index.rows(
        "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words, 2.0, 1.0) LIMIT ?", query, n
    )
    return [row[0] for row in rows]
