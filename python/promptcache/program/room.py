"""With positions="schema" a prompt's own text has a place at the end only: no room is kept for it."""

from __future__ import annotations

from typing import Sequence

from .pieces import Blank, Decision, Module, Piece, Tree, Turn

__all__ = ["check_room"]


def check_room(tree: Tree) -> None:
    """ProgramError where a text would be moved behind what the program says behind it."""
    if tree.attributes.get("positions") == "schema":
        _check(tree.pieces, is_last=True)


def _check(pieces: Sequence[Piece], is_last: bool) -> bool:
    """is_last: nothing but texts of the prompt stands behind the pieces; gives whether that is so in
    front of them."""
    for piece in reversed(pieces):
        if isinstance(piece, Blank):
            if not is_last:
                raise piece.place.error(
                    f'with positions="schema" there is no room for {piece.name} before what follows; '
                    "give it a length, or say it last"
                )
        elif isinstance(piece, (Module, Turn)):
            is_last = _check(piece.pieces, is_last)
        elif isinstance(piece, Decision):
            is_last = all([_check(module.pieces, is_last) for module in piece.modules])
        else:
            is_last = False
    return is_last
