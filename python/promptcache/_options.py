"""Keyword arguments as the C API's structs of options.

A field that is not given, or None, keeps the library's default. A zero that is given is meant: where
the C struct has a bit that says so (`given`), it is set.
"""

from __future__ import annotations

import functools
import os
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from ._library import c_text, ffi, lib, path_bytes

# Field: the bit that says that its zero is meant.
_GIVEN = {
    "pc_session_options": {
        "max_tokens": "PC_GIVEN_MAX_TOKENS",
        "top_p": "PC_GIVEN_TOP_P",
        "repetition_penalty": "PC_GIVEN_REPETITION_PENALTY",
        "prompt_logprobs": "PC_GIVEN_PROMPT_LOGPROBS",
        "max_draft": "PC_GIVEN_MAX_DRAFT",
    },
    "pc_engine_options": {"chat_time": "PC_GIVEN_CHAT_TIME"},
}


_PATHS = {"model_path", "cache_dir", "chat_template", "backend"}
_PATH_LISTS = {"cache_from", "cache_trust"}  # each with its number in n_<name>


@functools.lru_cache(maxsize=None)
def _fields(kind: str) -> Dict[str, Any]:
    """Of the C struct, by name."""
    return dict(ffi.typeof(kind).fields or ())


class Options:
    """A struct of options, and what it points to, which lives as long as this object: whoever hands
    the struct to C keeps the object, as long as C may call what it names."""

    def __init__(self, kind: str, values: Mapping[str, Any]) -> None:
        self._kept: List[Any] = []
        self.struct = ffi.new(f"{kind} *")
        getattr(lib, f"{kind}_init")(self.struct)
        fields = _fields(kind)
        for name, value in values.items():
            if value is None:
                continue
            if name not in fields:
                raise TypeError(f"{name!r} is not an option; there are {', '.join(sorted(fields))}")
            if name in _PATH_LISTS:
                self._set_paths(name, value)
                continue
            setattr(self.struct, name, self._as_c(name, fields[name].type, value))
            bit = _GIVEN.get(kind, {}).get(name)
            if bit:
                self.struct.given |= getattr(lib, bit)

    def keep(self, value: Any) -> Any:
        self._kept.append(value)
        return value

    def strings(self, values: Iterable[str]) -> Tuple[Any, int]:
        """[n] pointers to NUL-terminated texts, and n."""
        texts = [self.keep(ffi.new("char[]", c_text(text))) for text in values]
        return self.keep(ffi.new("const char *[]", texts)), len(texts)

    def _set_paths(self, name: str, value: Any) -> None:
        if isinstance(value, (str, bytes, os.PathLike)):
            value = [value]
        paths = [self.keep(ffi.new("char[]", path_bytes(path))) for path in value]
        setattr(self.struct, name, self.keep(ffi.new("const char *[]", paths)))
        setattr(self.struct, f"n_{name}", len(paths))

    def _as_c(self, name: str, kind: Any, value: Any) -> Any:
        if name in _PATHS or isinstance(value, os.PathLike):
            value = path_bytes(value)
        if isinstance(value, str):
            value = c_text(value, name)
        if isinstance(value, bytes):
            return self.keep(ffi.new("char[]", value))
        if isinstance(value, bool):
            return int(value)
        if kind.kind == "primitive" and kind.cname in ("float", "double"):
            return float(value)
        return self.keep(value) if isinstance(value, ffi.CData) else value


def given_number(name: str, value: Any, names: Mapping[str, int]) -> Optional[int]:
    """One of `names`, by its name; None where it is None. ValueError names what there is."""
    if value is None:
        return None
    if value not in names:
        raise ValueError(f"{name}={value!r}: there is {', '.join(map(repr, names))}")
    return names[value]
