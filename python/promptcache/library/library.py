"""A library: folders of documents that answer questions."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Tuple, Type, Union

from .._library import StrPath, call, ffi, lib, utf8
from ..errors import ContextFull, InvalidArgument, NotFound
from ..progress import Bar, Progress
from . import keeping
from .ahead import MOST_PIECES, encode_ahead
from .answer import Answer, Source, sources_of
from .index import Index
from .pieces import Piece, pieces_of
from .prompts import SYSTEM, prompt_in, schema_of
from .reading import Changes
from .search import ranked
from .updating import bring_up, bring_up_one, forget
from .vectors import Embedder, Vectors, chosen_embedder

if TYPE_CHECKING:
    from ..engine import Engine
    from ..prompt import Prompt

__all__ = ["PIECE_TOKENS", "Document", "Library"]

PIECE_TOKENS = 256
_LEAST_PIECE_TOKENS = 16
_LOOKS = 3  # at files that change while they are looked at


@dataclasses.dataclass(frozen=True)
class Document:
    """A file of the library."""

    path: str
    title: str
    pieces: int
    tokens: int
    problem: Optional[str]  # why there is no text of it


class Library:
    """Documents that answer questions: found by SQLite's index, read by the engine as modules.

    path: the library's own folder, made where there is none; documents stay where they are.
    engine: what answers; its tokenizer sizes pieces. Without one a library can be searched and
        listed, and documents removed.
    piece_tokens: of a new library: the most tokens of a piece. One that exists keeps its own.
    dense: pieces are found by vectors as well as by words. True: by the wordllama package, where it
        is installed; or a callable, texts -> [n, n_dimensions], such as Engine.embed of a model made
        for vectors.
    scaffold_after: by this many prompts with the same pieces these are encoded together; None: never.
    system: what the model is told first.

    Any number of processes may read and write one library; a Library is used by one thread at a
    time. Raises Corrupt, IOFailure, Mismatch and what engines raise.
    """

    def __init__(
        self,
        path: StrPath,
        engine: Optional[Engine] = None,
        *,
        piece_tokens: int = PIECE_TOKENS,
        dense: Union[bool, Embedder] = True,
        scaffold_after: Optional[int] = 4,
        system: str = SYSTEM,
    ) -> None:
        if piece_tokens < _LEAST_PIECE_TOKENS:
            raise InvalidArgument(f"piece_tokens={piece_tokens}: at least {_LEAST_PIECE_TOKENS}")
        self.engine = engine
        self._system = system
        self._scaffold_after = scaffold_after
        self._index = Index(Path(path))
        embedder = chosen_embedder(dense)
        self._vectors = Vectors(self._index, embedder) if embedder else None
        self._piece_tokens = self._kept_piece_tokens(piece_tokens)
        self._ahead = 0  # the last piece whose modules were looked for

    def _kept_piece_tokens(self, given: int) -> int:
        kept = self._index.setting("piece_tokens")
        if kept is None:
            with self._index.write():
                kept = self._index.setting("piece_tokens") or str(given)
                self._index.set("piece_tokens", kept)
        return int(kept)

    def close(self) -> None:
        """May be called twice. Afterwards all else raises ValueError. The engine stays open: it is
        whoever's gave it."""
        self._index.close()

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._index.is_closed:
            return f"<promptcache.Library {str(self._index.path.parent)!r}, closed>"
        n, pieces = self._index.row(
            "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM pieces)"
        )
        return f"<promptcache.Library {str(self._index.path.parent)!r}: {n} documents, {pieces} pieces>"

    # ---- Documents

    def add(self, *paths: StrPath, progress: Progress = None) -> Changes:
        """Adds files and folders, with all that will come into them: text, Markdown, HTML, and PDF
        where the pypdf package is installed. Hidden files and other kinds are left out."""
        roots = [os.path.abspath(os.fspath(path)) for path in paths]
        for root in roots:
            if not os.path.exists(root):
                raise NotFound(f"there is no file or folder {root}")
        with self._index.write():
            for root in roots:
                self._index.do("INSERT OR IGNORE INTO roots VALUES (?)", root)
        return self._brought_up(roots, progress)

    def refresh(self, progress: Progress = None) -> Changes:
        """Looks at every file: new and changed ones are read, and those that are gone go. What is of a
        folder that cannot be looked into stays, and is told of (Changes.unreachable)."""
        return self._brought_up(self._roots(), progress)

    def rebuild(self, progress: Progress = None) -> Changes:
        """Makes the index from the files again, as far as they can be looked at. Pieces get new
        numbers."""
        with self._index.write():
            # The words first: where they are damaged, no document could go.
            self._index.do("INSERT INTO words (words) VALUES ('rebuild')")
        forget(self._index, self._roots())
        return self.refresh(progress)

    def remove(self, path: StrPath) -> int:
        """Forgets a file or a folder; gives how many documents those were. The files stay, and what
        lies in a folder that was added and not removed comes back by refresh()."""
        root = os.path.abspath(os.fspath(path))
        inside = os.path.join(root, "")
        where = "WHERE path = ? OR substr(path, 1, ?) = ?"
        values = (root, len(inside), inside)
        with self._index.write():
            n = int(self._index.row(f"SELECT count(*) FROM documents {where}", *values)[0])
            self._index.do(f"DELETE FROM documents {where}", *values)
            self._index.do(f"DELETE FROM roots {where}", *values)
        self._let_go()
        return n

    def documents(self) -> List[Document]:
        """The files of the library by their paths, those without a text among them."""
        rows = self._index.rows(
            "SELECT path, title, count(pieces.id), coalesce(sum(n_tokens), 0), problem "
            "FROM documents LEFT JOIN pieces ON document = documents.id "
            "GROUP BY documents.id ORDER BY path"
        )
        return [Document(*row) for row in rows]

    def _roots(self) -> List[str]:
        return [row[0] for row in self._index.rows("SELECT path FROM roots ORDER BY path")]

    def _brought_up(self, roots: Sequence[str], progress: Progress) -> Changes:
        with Bar(progress, "document") as bar:
            changes = bring_up(self._index, roots, self._piece_tokens, self._count, bar)
            self._let_go()
            if self._vectors is not None:
                self._vectors.fill(bar)
        return changes

    def _let_go(self) -> None:
        keeping.release(self._index)
        if self._vectors is not None:
            self._vectors.forget()

    def _count(self, text: str) -> int:
        """len(engine.tokenize(text)), without the tokens."""
        n = ffi.new("size_t *")
        call(lib.pc_tokenize_text, self._asked_engine().handle, *utf8(text), 0, ffi.NULL, 0, n)
        return int(n[0])

    def _asked_engine(self) -> Engine:
        if self.engine is None:
            raise InvalidArgument(
                "this takes an engine, whose tokenizer sizes pieces and whose model answers: "
                "Library(path, engine)"
            )
        return self.engine

    # ---- Questions

    def search(self, question: str, k: int = 4) -> Tuple[Source, ...]:
        """The k best pieces, the best first."""
        return sources_of(self._found(question, k))

    def prompt(self, question: str, k: int = 4) -> Tuple[Tuple[Source, ...], Prompt]:
        """What ask() asks: the pieces in the order of the prompt, and the prompt."""
        pieces, prompt = self._prompt(question, k)
        return sources_of(pieces), prompt

    def ask(
        self,
        question: str,
        k: int = 4,
        *,
        on_text: Optional[Callable[[str], None]] = None,
        **options: Any,
    ) -> Answer:
        """The model's answer from the k best pieces.

        Pieces that the window has no room for are left out, the last ones first. on_text: is called
        with the answer's text as it comes. options: those of Session. NotFound: no piece has
        anything of the question.
        """
        pieces, prompt, session = self._opened(question, k, options)
        with session:
            self._write_down(pieces, prompt)  # now, in case that this process does not end well
            texts = []
            for text in session:
                texts.append(text)
                if on_text is not None:
                    on_text(text)
            stats = session.stats
        self._write_down(pieces, prompt)
        keeping.count_set(self._index, [piece.number for piece in pieces])
        text = "".join(texts)
        return Answer(text, sources_of(pieces, text), stats.finish or "", stats)

    def _opened(self, question: str, k: int, options: Any) -> Tuple[List[Piece], Prompt, Any]:
        while True:
            pieces, prompt = self._prompt(question, k)
            try:
                return pieces, prompt, prompt.session(**options)
            except ContextFull:
                if len(pieces) == 1:
                    raise
                k = len(pieces) - 1

    def _prompt(self, question: str, k: int) -> Tuple[List[Piece], Prompt]:
        engine, pieces = self._asked_engine(), self._found(question, k)
        if not pieces:
            raise NotFound(self._why_nothing())
        if len(pieces) == 1:
            return pieces, prompt_in(schema_of(engine, self._system, pieces, []), pieces, question)
        if self._scaffold_after is not None:
            numbers = [piece.number for piece in pieces]
            places = keeping.places_of_set(self._index, numbers, self._scaffold_after)
            ordered = sorted(pieces, key=lambda p: places.index(p.number)) if places else pieces
        else:
            places, ordered = [], pieces
        schema = schema_of(
            engine, self._system, ordered, self._stand_ins(), scaffold=bool(places)
        )
        return ordered, prompt_in(schema, ordered, question)

    def _why_nothing(self) -> str:
        if self._index.row("SELECT 1 FROM pieces LIMIT 1"):
            return "no document of this library has a word of the question; ask in others"
        return "this library has no text yet: add documents; `ls` says of each why it cannot be read"

    def _stand_ins(self) -> List[Piece]:
        numbers = keeping.choose_stand_ins(self._index, self._piece_tokens)
        return pieces_of(self._index, numbers)

    def _found(self, question: str, k: int) -> List[Piece]:
        """Pieces whose files say what they said, as far as their time and size tell; without an engine
        nobody looks."""
        if k < 1:
            raise InvalidArgument(f"k={k}: at least 1")
        pieces: List[Piece] = []
        for _ in range(_LOOKS):
            pieces = pieces_of(self._index, ranked(self._index, self._vectors, question, k))
            if self.engine is None or not self._changed({piece.path for piece in pieces}):
                break
        return pieces

    def _changed(self, paths: Any) -> bool:
        """Whether a document was otherwise than the index said; it is no more."""
        changed = False
        for path in sorted(paths):
            changed |= bring_up_one(self._index, path, self._piece_tokens, self._count)
        if changed:
            self._let_go()
            if self._vectors is not None:
                with Bar(None, "document") as bar:
                    self._vectors.fill(bar)
        return changed

    def _write_down(self, pieces: Sequence[Piece], prompt: Prompt) -> None:
        cache = self._asked_engine().describe()["cache"]
        if cache.get("writable"):
            keeping.write_down(self._index, pieces, prompt.explain(), cache["dir"])

    # ---- Ahead

    def encode(self, limit: Optional[int] = None) -> int:
        """Encodes the modules of pieces that no question has needed yet, as long as the store has
        room: of the next `limit` pieces. Gives how many pieces it looked at; 0: there is nothing left to
        do. For times when nobody asks."""
        n, stand_ins = 0, self._stand_ins()
        while limit is None or n < limit:
            left = MOST_PIECES if limit is None else limit - n
            step = encode_ahead(
                self._asked_engine(), self._index, self._system, stand_ins, self._ahead, left
            )
            self._ahead = step.last
            n += step.n_pieces
            if step.n_pieces == 0:
                break
        return n
