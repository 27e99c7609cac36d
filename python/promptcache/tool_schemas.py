"""A Python function as a tool: what a chat template is told of it, out of its signature and docstring.

    def weather(city: str, days: int = 1, unit: Literal["C", "F"] = "C") -> str:
        '''The weather of a city.

        city: its name, without the country.
        '''
"""

from __future__ import annotations

import collections.abc
import enum
import inspect
import re
import sys
import typing
from typing import Annotated, Any, Callable, Dict, List, Literal, Mapping, Set, Tuple, Union

__all__ = ["described"]

_SCALARS: Dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
_LISTS = (list, collections.abc.Sequence, collections.abc.Iterable)
_DICTS = (dict, collections.abc.Mapping)
_HEADING = re.compile(r"\s*(Args|Arguments|Parameters):\s*")
# X | Y, which Python has from 3.10 on.
_UNIONS: Set[Any] = {Union}
if sys.version_info >= (3, 10):
    import types

    _UNIONS.add(types.UnionType)

_MAY_BE = (
    "str, int, float, bool, None, Literal, Enum, Optional and Union, list and dict of them, Any, "
    "and Annotated with a text that describes it"
)


def described(tool: Union[Mapping[str, Any], Callable[..., Any]]) -> Dict[str, Any]:
    """A tool as templates are given it. TypeError names the parameter that has no schema."""
    if isinstance(tool, collections.abc.Mapping):
        return dict(tool)
    name = getattr(tool, "__name__", "")
    if not callable(tool) or not name.isidentifier():
        raise TypeError(f"a tool is a function with a name, or a dict, and not {tool!r}")
    text, told = _told(inspect.getdoc(tool) or "", {p.name for p in _signature(tool, name)})
    function: Dict[str, Any] = {"name": name}
    if text:
        function["description"] = text
    function["parameters"] = _parameters(tool, name, told)
    return {"type": "function", "function": function}


def _parameters(tool: Callable[..., Any], name: str, told: Mapping[str, str]) -> Dict[str, Any]:
    hints = _hints(tool, name)
    properties: Dict[str, Any] = {}
    required: List[str] = []
    for parameter in _signature(tool, name):
        where = f"the tool {name}: its parameter {parameter.name!r}"
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{where} cannot be named by a call; write each of its arguments out")
        if parameter.name not in hints:
            raise TypeError(f"{where} has no annotation, which may be {_MAY_BE}")
        schema = _schema(hints[parameter.name], where)
        if parameter.name in told:
            schema = {**schema, "description": told[parameter.name]}
        properties[parameter.name] = schema
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _signature(tool: Callable[..., Any], name: str) -> List[inspect.Parameter]:
    try:
        return list(inspect.signature(tool).parameters.values())
    except ValueError as error:
        raise TypeError(f"the tool {name} has no signature that can be read: {error}") from error


def _hints(tool: Callable[..., Any], name: str) -> Dict[str, Any]:
    try:
        hints = typing.get_type_hints(tool, include_extras=True)
    except (NameError, TypeError) as error:  # X | Y before Python 3.10
        raise TypeError(f"the tool {name}: an annotation cannot be read: {error}") from error
    return hints


def _schema(kind: Any, where: str) -> Dict[str, Any]:
    if kind is Any:
        return {}
    if isinstance(kind, type) and kind in _SCALARS:
        return {"type": _SCALARS[kind]}
    if inspect.isclass(kind) and issubclass(kind, enum.Enum):
        return _one_of([member.value for member in kind], where)
    origin, arguments = typing.get_origin(kind) or kind, typing.get_args(kind)
    if origin is Literal:
        return _one_of(list(arguments), where)
    if origin is Annotated:
        texts = [text for text in arguments[1:] if isinstance(text, str)]
        schema = _schema(arguments[0], where)
        return {**schema, "description": texts[0]} if texts else schema
    if origin in _UNIONS:
        return {"anyOf": [_schema(argument, where) for argument in arguments]}
    if origin in _LISTS:
        return _list(arguments, where)
    if origin in _DICTS:
        return _dict(arguments, where)
    raise TypeError(f"{where} is of {kind!r}, of which no schema is made; it may be {_MAY_BE}")


def _list(arguments: Any, where: str) -> Dict[str, Any]:
    return {"type": "array", **({"items": _schema(arguments[0], where)} if arguments else {})}


def _dict(arguments: Any, where: str) -> Dict[str, Any]:
    if not arguments:
        return {"type": "object"}
    if arguments[0] is not str:
        raise TypeError(f"{where} is a dict whose keys are {arguments[0]!r}; in JSON they are str")
    return {"type": "object", "additionalProperties": _schema(arguments[1], where)}


def _one_of(values: List[Any], where: str) -> Dict[str, Any]:
    for value in values:
        if type(value) not in _SCALARS:
            raise TypeError(f"{where} may be {value!r}, which is no str, int, float, bool or None")
    kinds = {_SCALARS[type(value)] for value in values}
    return {**({"type": kinds.pop()} if len(kinds) == 1 else {}), "enum": values}


def _told(doc: str, names: Set[str]) -> Tuple[str, Dict[str, str]]:
    """What a docstring says of the function, and of each parameter: "name: text", in a line of its
    own, which goes on where it is indented further; below a heading ("Args:") or none."""
    text: List[str] = []
    told: Dict[str, str] = {}
    name, depth = "", 0
    for line in doc.splitlines():
        found = re.match(r"(\s*)(\w+)(?:\s*\([^)]*\))?:\s+(\S.*)", line)
        if found and found[2] in names:
            name, depth = found[2], len(found[1])
            told[name] = found[3].strip()
        elif name and line[: depth + 1].isspace() and line.strip():
            told[name] += " " + line.strip()
        elif not _HEADING.fullmatch(line):
            name = ""
            text.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(text)).strip(), told
