"""Vectors of pieces, kept in the index, and the nearest of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Union

from ..progress import Bar
from .index import Index

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    Matrix = numpy.typing.NDArray[numpy.float32]

__all__ = ["Embedder", "Vectors", "chosen_embedder"]

# texts -> [len(texts), n_dimensions] numbers. Its vectors are kept under its name: the attribute
# `name` where it has one, else its module's and its own.
Embedder = Callable[[Sequence[str]], Any]
_BATCH = 256  # texts a call, and a transaction


def chosen_embedder(given: Union[bool, Embedder]) -> Optional[Embedder]:
    """What `dense=` asks for. True: the wordllama package, which carries its model, where it is
    installed; else none."""
    if callable(given):
        return given
    return _wordllama() if given else None


def _wordllama() -> Optional[Embedder]:
    try:
        import wordllama  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return None
    # Its files lie beside its code; nothing is fetched.
    model = wordllama.WordLlama.load(
        cache_dir=Path(str(wordllama.__file__)).parent, disable_download=True
    )

    def embed(texts: Sequence[str]) -> Any:
        return model.embed(list(texts), norm=True)

    embed.name = "wordllama l2_supercat_256"  # type: ignore[attr-defined]
    return embed


def _name(embedder: Embedder) -> str:
    own = f"{type(embedder).__module__}.{type(embedder).__qualname__}"
    module = getattr(embedder, "__module__", "")
    function = getattr(embedder, "__qualname__", None)
    return str(getattr(embedder, "name", f"{module}.{function}" if function else own))


class Vectors:
    """All vectors of an index in memory, [n_pieces, n_dimensions], read again when they change."""

    def __init__(self, index: Index, embedder: Embedder) -> None:
        self._index = index
        self._embedder = embedder
        self._numbers: List[int] = []
        self._matrix: Optional[Matrix] = None
        self._state = -1

    def fill(self, bar: Bar) -> None:
        """Computes the vectors of the pieces that have none by this embedder."""
        name = _name(self._embedder)
        if self._index.setting("embedder") != name:
            with self._index.write():
                self._index.do("DELETE FROM vectors")
                self._index.set("embedder", name)
        missing = self._index.rows(
            "SELECT id, heading || char(10) || text FROM pieces "
            "WHERE id NOT IN (SELECT piece FROM vectors)"
        )
        for start in range(0, len(missing), _BATCH):
            bar("vectors", start, len(missing))
            batch = missing[start : start + _BATCH]
            rows = self._of([text for _, text in batch])
            with self._index.write():
                for (number, _), row in zip(batch, rows):
                    self._index.do(  # unless the piece went meanwhile
                        "INSERT OR REPLACE INTO vectors SELECT id, ? FROM pieces WHERE id = ?",
                        row.tobytes(), number,
                    )  # fmt: skip
        if missing:
            self._matrix = None

    def nearest(self, text: str, n: int) -> List[int]:
        """Numbers of the pieces nearest to a text by cosine, the nearest first."""
        import numpy

        self._load()
        if self._matrix is None or not self._numbers:
            return []
        scores = self._matrix @ self._of([text])[0]
        n = min(n, len(scores))
        best = numpy.argpartition(-scores, n - 1)[:n]
        return [self._numbers[i] for i in best[numpy.argsort(-scores[best], kind="stable")]]

    def forget(self) -> None:
        """This connection changed rows: they are read again."""
        self._matrix = None

    def _load(self) -> None:
        import numpy

        state = self._index.state
        if self._matrix is not None and state == self._state:
            return
        with Bar(None, "piece") as bar:
            self.fill(bar)  # of what a process without this embedder added
        rows = self._index.rows("SELECT piece, vector FROM vectors ORDER BY piece")
        self._numbers = [number for number, _ in rows]
        joined = b"".join(vector for _, vector in rows)
        self._matrix = numpy.frombuffer(joined, numpy.float32).reshape(len(rows), -1 if rows else 0)
        self._state = state

    def _of(self, texts: Sequence[str]) -> Matrix:
        """[len(texts), n_dimensions] float32, each of length 1, or 0 where there is nothing."""
        import numpy

        made = numpy.asarray(self._embedder(texts), numpy.float32).reshape(len(texts), -1)
        lengths = numpy.linalg.norm(made, axis=1, keepdims=True)
        return numpy.ascontiguousarray(made / numpy.maximum(lengths, 1e-12))
