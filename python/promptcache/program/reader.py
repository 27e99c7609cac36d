"""Reads an expression of a program: what is known of its value.

Nothing of the source is executed. What can be known when the program is compiled is computed here from
its parts, by pure operations on built-in values; comparisons of what comes with a prompt are kept.
"""

from __future__ import annotations

import ast
import enum
import operator
from typing import Any, Callable, List, Optional

from . import constants
from .computing import combine, conditional, is_larger, tabulated
from .expressions import OPERATIONS, Collection, Constant, Expression, Operation, is_text, join
from .knowledge import Knowledge, Unsure

__all__ = ["Reader", "read_text"]

_MOST_PARTS = 4096  # of a value; more come of decisions that double each other
# Of operations in each other in a value. A prompt computes it with some three frames of Python each, of
# the thousand that there are.
_MOST_DEPTH = 200

_INSTEAD = {
    "Lambda": "write the text where it is said",
    "ListComp": "write a for statement that says its items",
    "SetComp": "write a for statement that says its items",
    "DictComp": "write a for statement that says its items",
    "GeneratorExp": "write a for statement that says its items",
    "NamedExpr": "set the name in a statement of its own",
    "Starred": "write the items one by one",
    "Yield": "write say(...)",
    "YieldFrom": "write say(...)",
}


class Reader(Knowledge):
    """Reads the expressions of one function."""

    def read(self, node: ast.AST) -> Expression:
        kind = type(node).__name__
        method: Optional[Callable[[Any], Expression]] = getattr(self, f"_read_{kind}", None)
        if method is None:
            instead = _INSTEAD.get(kind, "pass its value as an argument of type str")
            raise self.source.error(node, f"this expression is not compiled; {instead}")
        return method(node)

    def constant(self, node: ast.AST) -> Any:
        """The value of an expression that depends on no argument."""
        read = tabulated(self.read(node))
        if not isinstance(read, Constant):
            raise self.source.error(node, "this depends on an argument; here a constant is needed")
        return read.value

    def bounded(self, node: ast.AST, name: str, value: Expression) -> Expression:
        """The value; ProgramError where it has more parts than what comes behind can bear."""
        if is_larger(value, _MOST_PARTS, _MOST_DEPTH):
            raise self.source.error(
                node, f"{name} is put together in too many ways; say each part where it is decided"
            )
        return value

    # ---- Values

    def _read_Constant(self, node: ast.Constant) -> Expression:
        return self._known(node, node.value)

    def _known(self, node: ast.AST, value: Any) -> Expression:
        if not constants.is_constant(value):
            raise self.source.error(
                node,
                f"{ast.unparse(node)} is a {type(value).__name__}, no constant of built-in values",
            )
        return Constant(value)

    def _read_Name(self, node: ast.Name) -> Expression:
        known = self.names.get(node.id)
        if isinstance(known, Unsure):
            raise self.source.error(
                node,
                f"{node.id} is set on one way only, in line {known.where.line}; set it before, "
                f"or write {node.id} = ... if ... else ...",
            )
        return known if known is not None else self._known(node, self.resolve(node))

    def _read_Attribute(self, node: ast.Attribute) -> Expression:
        if self.is_own(node.value):
            name = node.attr
            return self.apply(
                node, lambda value: constants.attribute_of(value, name), [self.read(node.value)]
            )
        owner = self.resolve(node.value)
        if constants.is_constant(owner):
            return self._known(node, constants.attribute_of(owner, node.attr))
        return self._known(node, self.resolve(node))

    def _read_Subscript(self, node: ast.Subscript) -> Expression:
        def item(value: Any, key: Any) -> Any:
            return constants.checked(operator.getitem(value, key))

        return self.apply(node, item, [self.read(node.value), self.read(node.slice)])

    def _read_Slice(self, node: ast.Slice) -> Expression:
        ends = [node.lower, node.upper, node.step]
        return Constant(slice(*(None if end is None else self.constant(end) for end in ends)))

    def _read_Tuple(self, node: ast.Tuple) -> Expression:
        return self.apply(node, lambda *v: v, [self.read(e) for e in node.elts])

    def _read_List(self, node: ast.List) -> Expression:
        return self.apply(node, lambda *v: list(v), [self.read(e) for e in node.elts])

    def _read_Set(self, node: ast.Set) -> Expression:
        return self.apply(node, lambda *v: set(v), [self.read(e) for e in node.elts])

    def _read_Dict(self, node: ast.Dict) -> Expression:
        if any(key is None for key in node.keys):
            raise self.source.error(node, _INSTEAD["Starred"])
        n = len(node.keys)
        items = [self.read(e) for e in [*node.keys, *node.values] if e is not None]
        return self.apply(node, lambda *v: dict(zip(v[:n], v[n:])), items)

    # ---- Calls

    def _read_Call(self, node: ast.Call) -> Expression:
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise self.source.error(node, "a call in an expression has plain arguments only")
        operands = [self.read(argument) for argument in node.args]
        function = node.func
        if isinstance(function, ast.Attribute) and not self._names_a_function(function):
            name = function.attr
            call = lambda value, *rest: constants.method_of(value, name, *rest)  # noqa: E731
            return self.apply(node, call, [self.read(function.value), *operands])
        called = self.resolve(function)
        for known, replacement in constants.PURE:
            if called is known:
                pure = replacement if known in (len, sorted) else constants.ordered(replacement)
                return self.apply(node, pure, operands)
        raise self.source.error(
            node,
            f"{ast.unparse(function)}() is not called when a program is compiled; pass its result as "
            "an argument, or make it a program and call it in a statement of its own",
        )

    def _names_a_function(self, node: ast.Attribute) -> bool:
        return not self.is_own(node) and not constants.is_constant(self.resolve(node.value))

    # ---- Operations

    def _read_UnaryOp(self, node: ast.UnaryOp) -> Expression:
        operand = self.read(node.operand)
        if isinstance(node.op, ast.Not):
            return self._operation(node, "not", [operand])
        if isinstance(node.op, ast.USub):
            return self.apply(node, operator.neg, [operand])
        raise self.source.error(node, "of operators with one side there are `not` and `-`")

    def _read_BinOp(self, node: ast.BinOp) -> Expression:
        sides = [self.read(node.left), self.read(node.right)]
        is_known = all(isinstance(side, Constant) for side in sides)
        if isinstance(node.op, ast.Add) and not is_known and all(map(is_text, sides)):
            return join(sides)
        function = constants.ARITHMETIC.get(type(node.op))
        if function is None:
            raise self.source.error(node, "of operators there are +, -, *, // and %, on constants")
        return self.apply(node, function, sides)

    def _read_BoolOp(self, node: ast.BoolOp) -> Expression:
        kind = "and" if isinstance(node.op, ast.And) else "or"
        inner, values = Reader(self.source, dict(self.names)), []
        for value in node.values:  # what stands behind `x == 1 and` is read where that holds
            values.append(inner.read(value))
            inner.assume(values[-1], holds=kind == "and")
        return self.bounded(node, "this", combine(kind, values))

    def _read_Compare(self, node: ast.Compare) -> Expression:
        sides = [self.read(side) for side in (node.left, *node.comparators)]
        parts = []
        for left, op, right in zip(sides, node.ops, sides[1:]):
            kind = constants.COMPARISONS[type(op)]
            parts.append(self.compare(node, kind, left, right))
        return parts[0] if len(parts) == 1 else combine("and", parts)

    def compare(self, node: ast.AST, kind: str, left: Expression, right: Expression) -> Expression:
        """kind: one of constants.COMPARISONS' values."""
        self._check_choices(node, kind, left, right)
        return self._operation(node, kind, [left, right])

    def _check_choices(self, node: ast.AST, kind: str, left: Expression, right: Expression) -> None:
        """A parameter is compared with what it may be."""
        if kind in ("in", "not in"):
            pairs = []
            if isinstance(right, Constant) and type(right.value) in (tuple, list, set, frozenset, dict):
                pairs = [(left, value) for value in right.value]
            elif isinstance(right, Collection) and isinstance(left, Constant):
                pairs = [(right, left.value)]
        elif kind in ("is", "is not") and not any(map(_is_one_object, (left, right))):
            raise self.source.error(node, "texts and numbers are compared by == and !=")
        else:
            pairs = [(a, b.value) for a, b in ((left, right), (right, left)) if isinstance(b, Constant)]
        for parameter, value in pairs:
            domain = getattr(parameter, "domain", ())
            if domain and not any(OPERATIONS["=="](value, choice) for choice in domain):
                raise self.source.error(
                    node, f"{value!r} is none of its choices, which are {', '.join(map(repr, domain))}"
                )

    def _operation(self, node: ast.AST, kind: str, operands: List[Expression]) -> Expression:
        made = self.computed(node, OPERATIONS[kind], operands)
        if made is not None:
            return made
        if kind in ("<", "<=", ">", ">="):
            raise self.source.error(node, "what comes with a prompt is compared by ==, !=, is, in")
        return Operation(kind, tuple(operands))

    def _read_IfExp(self, node: ast.IfExp) -> Expression:
        condition = self.read(node.test)
        if isinstance(condition, Constant):
            return self.read(node.body if condition.value else node.orelse)
        ends = []
        for end, holds in ((node.body, True), (node.orelse, False)):
            inner = Reader(self.source, dict(self.names))
            inner.assume(condition, holds)
            ends.append(inner.read(end))
        return self.bounded(node, "this", conditional(condition, ends[0], ends[1]))

    # ---- Texts

    def _read_JoinedStr(self, node: ast.JoinedStr) -> Expression:
        return join([self.read(value) for value in node.values])

    def _read_FormattedValue(self, node: ast.FormattedValue) -> Expression:
        value = self.read(node.value)
        conversion = "" if node.conversion < 0 else chr(node.conversion)
        spec = "" if node.format_spec is None else self.constant(node.format_spec)
        if is_text(value) and not conversion and not spec:
            return value
        made = self.computed(node, lambda v: constants.formatted(v, conversion, spec), [value])
        if made is None:
            raise self.source.error(
                node,
                "what comes with a prompt is not formatted; say the text as it is",
            )
        return made


def _is_one_object(expression: Expression) -> bool:
    """Whether `is` says of it what == says: None, a bool, a member of an Enum."""
    return isinstance(expression, Constant) and isinstance(
        expression.value, (bool, enum.Enum, type(None))
    )


def read_text(reader: Reader, node: ast.AST) -> Expression:
    """Reads what is said. ProgramError where that is no string."""
    read = reader.read(node)
    if not is_text(read):
        raise reader.source.error(node, "a program says strings; write f'{...}' around it")
    return read
