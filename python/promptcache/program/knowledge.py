"""What is known where an expression of a program stands: its names, and what is computed of them."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any, Callable, Dict, Optional, Sequence, Union

from .computing import apply, narrow
from .errors import Place, ProgramError
from .expressions import Expression, Operation, Table
from .source import Source, Unknown, attribute

__all__ = ["Environment", "Knowledge", "Unsure"]


@dataclasses.dataclass(frozen=True)
class Unsure:
    """A name that only some ways through the program set."""

    where: Place


Environment = Dict[str, Union[Expression, Unsure]]


class Knowledge:
    """`names` are the function's own: parameters and what is assigned. Others are looked up where the
    function stands."""

    def __init__(self, source: Source, names: Environment) -> None:
        self.source = source
        self.names = names

    def resolve(self, node: ast.AST) -> Any:
        """The object that a name or module.name stands for, which need be no constant."""
        try:
            if isinstance(node, ast.Name) and node.id not in self.names:
                if self.source.has_local(node.id):
                    raise self.source.error(node, f"{node.id} has no value here; set it above")
                return self.source.look_up(node.id)
            if isinstance(node, ast.Attribute):
                return attribute(self.resolve(node.value), node.attr)
        except Unknown:
            raise self.source.error(
                node, f"{ast.unparse(node)} has no value that is known without running anything"
            ) from None
        raise self.source.error(node, "a name, or module.name, is needed here")

    def apply(
        self, node: ast.AST, function: Callable[..., Any], operands: Sequence[Expression]
    ) -> Expression:
        """Computes what is known; what is not is refused at the node."""
        made = self.computed(node, function, operands)
        if made is None:
            raise self.source.error(
                node,
                "this is computed from what comes with a prompt; pass the text itself as an argument, "
                "or decide by if or match on a bool, a Literal or an Enum",
            )
        return made

    def computed(
        self, node: ast.AST, function: Callable[..., Any], operands: Sequence[Expression]
    ) -> Optional[Expression]:
        try:
            return apply(function, operands)
        except ProgramError:
            raise
        except Exception as error:  # whatever the operation on the source's own values raises
            sentence = f"no such key: {error}" if isinstance(error, KeyError) else str(error)
            raise self.source.error(node, sentence) from None

    def is_own(self, node: ast.AST) -> bool:
        """Whether the expression is no chain of names that begins outside of the function."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return not isinstance(node, ast.Name) or node.id in self.names

    def assume(self, condition: Expression, holds: bool) -> None:
        """Narrows all names to what is left of them where the condition holds, or does not."""
        if isinstance(condition, Operation) and condition.kind == ("and" if holds else "or"):
            for operand in condition.operands:
                self.assume(operand, holds)
        if isinstance(condition, Operation) and condition.kind == "not":
            self.assume(condition.operands[0], not holds)
        if not isinstance(condition, Table):
            return
        choices = [choice for choice, value in condition.rows if bool(value) is holds]
        for name, value in self.names.items():
            if not isinstance(value, Unsure):
                self.names[name] = narrow(value, condition.parameter, choices)
