"""Names of modules and parameters, made of the source's own words."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Dict, Sequence
from xml.parsers import expat

from .expressions import Argument, Collection, Constant, Expression, Operation, Table

__all__ = ["Scope", "name_of_choices", "name_of_condition", "name_of_rest", "pml_name"]

# The tags of the language (docs/PML.md, 2).
_TAGS = frozenset(
    "schema prompt module union param parameter system user assistant scaffold stand-in".split()
)
_LONGEST = 40  # characters of a name that is made of a choice or a condition


def pml_name(words: str) -> str:
    """Any words as a name of PML: letters, digits, '_', '-' and '.'; '' where there are none."""
    name = _hyphened("".join(c if c.isalnum() or c in "_-." else " " for c in words))
    if not _is_xml_name("x" + name):  # letters that XML 1.0 does not know
        name = _hyphened("".join(c if c.isascii() else " " for c in name))
    if not name:
        return ""
    if not _is_xml_name(name):
        name = "_" + name
    return name + "_" if name in _TAGS else name


def _hyphened(words: str) -> str:
    return "-".join(words.split()).strip("-.")


def _is_xml_name(name: str) -> bool:
    """As the reader of PML sees it: both are expat."""
    try:
        expat.ParserCreate().Parse(f"<{name}/>", True)
    except expat.ExpatError:
        return False
    return True


def _short(words: str) -> str:
    return words[:_LONGEST].rstrip("-. ")


@dataclasses.dataclass
class Scope:
    """The names that siblings have already: those of modules, and those of one module's parameters."""

    modules: Dict[str, int] = dataclasses.field(default_factory=dict)  # and how many of each
    parameters: Dict[str, int] = dataclasses.field(default_factory=dict)

    def module(self, words: str) -> str:
        return _new(pml_name(words) or "part", self.modules)

    def parameter(self, words: str) -> str:
        return _new(pml_name(words) or "value", self.parameters)


def _new(name: str, taken: Dict[str, int]) -> str:
    """The name, or its first successor that is free: name-2, name-3, ..."""
    n, free = taken.get(name, 0) + 1, name
    while n > 1 and free in taken:
        free, n = f"{name}-{n}", n + 1
    taken[name] = max(n - 1, 1)
    taken.setdefault(free, 1)
    return free


def _word(parameter: str, value: Any) -> str:
    """A choice as a word: the choice itself where it is one, with the parameter's name where not."""
    if isinstance(value, bool):
        return parameter if value else f"no-{parameter}"
    if value is None:
        return f"no-{parameter}"
    text = value.name if isinstance(value, enum.Enum) else str(value)
    name = pml_name(text)
    return _short(name if name and name[0] != "_" or text[:1] == "_" else f"{parameter}-{text}")


def name_of_choices(parameter: str, choices: Sequence[Any], all_choices: Sequence[Any]) -> str:
    """Of the branch to which some of a parameter's choices lead."""
    others = [c for c in all_choices if not any(c is d for d in choices)]
    if len(choices) > 1 and len(others) == 1:
        return parameter if others[0] is None else f"not-{_word(parameter, others[0])}"
    return "-or-".join(_word(parameter, choice) for choice in choices[:3])


def name_of_condition(condition: Expression) -> str:
    """Of the branch that is taken where the condition holds."""
    if isinstance(condition, Table):
        chosen = [choice for choice, holds in condition.rows if holds]
        return name_of_choices(
            condition.word or condition.parameter, chosen, [choice for choice, _ in condition.rows]
        )
    if isinstance(condition, Argument):
        return condition.parameter
    if isinstance(condition, Collection):
        return condition.word or condition.parameter
    if isinstance(condition, Operation):
        return _short(_name_of_operation(condition.kind, condition.operands))
    return ""


def name_of_rest(conditions: Sequence[Expression]) -> str:
    """Of the branch that is taken where none of the conditions holds."""
    first, last = conditions[0], conditions[-1]
    if all(isinstance(c, Table) and c.parameter == getattr(first, "parameter", "") for c in conditions):
        assert isinstance(first, Table) and isinstance(last, Table)
        rest = [choice for choice, holds in last.rows if not holds]
        return name_of_choices(
            first.word or first.parameter, rest, [choice for choice, _ in first.rows]
        )
    words = name_of_condition(first)
    if len(conditions) > 1:
        return "other"
    return words[3:] if words.startswith("no-") else f"no-{words}"


def _name_of_operation(kind: str, operands: Sequence[Expression]) -> str:
    words = [str(e.value) if isinstance(e, Constant) else name_of_condition(e) for e in operands]
    if kind == "if":
        return words[0]
    if kind == "not":
        return f"no-{words[0]}"
    if kind in ("and", "or"):
        return f"-{kind}-".join(words)
    if kind in ("in", "not in"):
        return words[0] if kind == "in" else f"no-{words[0]}"
    no = "no-" if kind in ("!=", "is not") else ""
    constant = next((i for i, e in enumerate(operands) if isinstance(e, Constant)), None)
    if constant is None:
        return no + "-is-".join(words)
    if isinstance(operands[constant], Constant) and words[constant] == "None":
        return words[1 - constant] if no else f"no-{words[1 - constant]}"
    return no + (words[constant] or f"no-{words[1 - constant]}")
