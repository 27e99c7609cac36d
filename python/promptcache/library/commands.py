"""python -m promptcache library: add, ask, ls, remove, watch."""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path
from typing import Any, Optional, Sequence

from ..engine import Engine
from ..errors import NotFound
from .files import is_under
from .index import FILE_NAME
from .library import PIECE_TOKENS, Library
from .reading import Changes
from .watching import watch

__all__ = ["add_to"]


def add_to(commands: Any) -> None:
    """commands: what ArgumentParser.add_subparsers gives. Each parser's `run` takes the parsed
    arguments and gives the exit status."""
    parser = commands.add_parser("library", help="documents that answer questions")
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    add = _verb(verbs, "add", _add, "read files and folders into a library")
    add.add_argument("paths", nargs="+", metavar="PATH", help="a file, or a folder with all in it")
    add.add_argument("--piece-tokens", type=int, default=PIECE_TOKENS, metavar="N",
                     help="of a new library: the most tokens of a piece (256)")  # fmt: skip
    _model(add)

    ask = _verb(verbs, "ask", _ask, "answer a question from a library's documents")
    ask.add_argument("question", metavar="QUESTION")
    ask.add_argument("-k", type=int, default=4, metavar="N", help="pieces in the prompt (4)")
    ask.add_argument("--max-tokens", type=int, metavar="N", help="of the answer (256)")
    _model(ask)

    _verb(verbs, "ls", _ls, "list a library's documents")

    remove = _verb(verbs, "remove", _remove, "forget files and folders, which stay where they are")
    remove.add_argument("paths", nargs="+", metavar="PATH")

    watching = _verb(verbs, "watch", _watch, "follow changes, and encode modules meanwhile")
    watching.add_argument("--every", type=_seconds, default=2.0, metavar="SECONDS",
                          help="between two looks at the files (2)")  # fmt: skip
    _model(watching)


def _verb(verbs: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=text, description=text)
    parser.add_argument("library", metavar="LIBRARY", help="the library's own folder")
    parser.set_defaults(run=run)
    return parser


def _model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", required=True, metavar="FILE",
                        help="a GGUF file, or a folder as Hugging Face lays one out")  # fmt: skip
    parser.add_argument("--cache-dir", metavar="DIR", help="where modules are kept")
    parser.add_argument("--threads", type=int, metavar="N")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return seconds


def _engine(arguments: argparse.Namespace) -> Engine:
    return Engine(arguments.model, cache_dir=arguments.cache_dir, threads=arguments.threads)


def _existing(arguments: argparse.Namespace, engine: Optional[Engine] = None) -> Library:
    """A library that somebody made: a slip of the path shall not make another."""
    if not (Path(arguments.library) / FILE_NAME).exists():
        raise NotFound(f"there is no library in {arguments.library}; `library add` makes one")
    return Library(arguments.library, engine, dense=engine is not None)


def _told(changes: Changes) -> None:
    print(
        f"{changes.added} added, {changes.changed} changed, {changes.removed} removed, "
        f"{changes.unchanged} unchanged",
        flush=True,
    )
    for path, why in changes.refused:
        print(f"promptcache: {path} is left out: {why}", file=sys.stderr, flush=True)
    for path, why in changes.unreachable:
        print(f"promptcache: {path} cannot be looked at: {why}", file=sys.stderr, flush=True)


def _add(arguments: argparse.Namespace) -> int:
    size: int = arguments.piece_tokens
    with _engine(arguments) as engine, Library(
        arguments.library, engine, piece_tokens=size
    ) as library:
        changes = library.add(*arguments.paths, progress=sys.stderr.isatty())
        wanted = [d for d in library.documents() if _is_of(d.path, arguments.paths)]
        # What was refused before is no change, but who adds it again asks why it is not there.
        told = {path for path, _ in changes.refused}
        changes.refused += [(d.path, d.problem) for d in wanted if d.problem and d.path not in told]
        _told(changes)
    return 1 if wanted and all(d.problem for d in wanted) else 0


def _is_of(document: str, paths: Sequence[str]) -> bool:
    return any(is_under(document, os.path.abspath(path)) for path in paths)


def _ask(arguments: argparse.Namespace) -> int:
    def show(text: str) -> None:
        print(text, end="", flush=True)

    with _engine(arguments) as engine, _existing(arguments, engine) as library:
        answer = library.ask(
            arguments.question, arguments.k, on_text=show, max_tokens=arguments.max_tokens
        )
    print("\n")
    for source in answer.cited or answer.sources:
        print(source)
    return 0


def _ls(arguments: argparse.Namespace) -> int:
    with _existing(arguments) as library:
        for document in library.documents():
            size = f"{document.pieces:6} pieces {document.tokens:8} tokens"
            print(f"{size}  {document.path}  {document.problem or document.title}")
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    with _existing(arguments) as library:
        for path in arguments.paths:
            print(f"{library.remove(path)} documents forgotten of {path}")
    return 0


def _watch(arguments: argparse.Namespace) -> int:
    with _engine(arguments) as engine, _existing(arguments, engine) as library:
        watch(library, arguments.every, _told)
    return 0
