"""The beginnings of a request: one digest for each, and how much text it covers.

Two requests that begin with the same text, to the same model, have their first beginnings in common.
Texts are cut where messages end and each BLOCK bytes between, and every digest covers all that
stands before its cut. Modules of PML have a beginning each, since they are found in any order.
Pure functions, which need no Ray and raise nothing: what a request should not say is for the server
to refuse, and has no beginnings.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Iterator, List, Mapping, NamedTuple, Optional

__all__ = ["BLOCK", "MOST", "Beginning", "beginnings"]

# A digest for each 1 KiB: about 250 tokens, which take longer to compute than to look for.
BLOCK = 1024
# Of one request, so that a book does not push everything else out of a router's table.
MOST = 512
# A table of a million of them has a wrong entry with a chance of one in 30 million: and that costs
# a detour, no answer.
_DIGEST_BYTES = 8


class Beginning(NamedTuple):
    digest: bytes
    n_bytes: int  # of text since the cut before; of a module, whose text is not here, BLOCK


def beginnings(path: str, body: Any) -> List[Beginning]:
    """Of the request to this path, of which body is the JSON, read; the shortest first."""
    if not isinstance(body, Mapping):
        return []
    model = body.get("model")
    modules = _modules(body) if path.startswith("/pml/") or "schema" in body else []
    chain = _cut(model if isinstance(model, str) else "", _parts(body), MOST - len(modules))
    return modules + chain


def _modules(body: Mapping[str, Any]) -> List[Beginning]:
    """Of the schema that a prompt names, and of each module that it imports from it."""
    text = body.get("prompt")
    if isinstance(text, str):
        schema = re.search(r"""<prompt\b[^>]*\bschema\s*=\s*["']([^"']*)["']""", text)
        name = schema[1] if schema else None
        names = re.findall(r"<([A-Za-z_][\w.-]*)", text)
    else:
        name, names = body.get("schema"), list(_imported(body.get("messages")))
    if not isinstance(name, str):
        return []
    whole = hashlib.blake2b(_fed("schema", name), digest_size=_DIGEST_BYTES)
    found = [Beginning(whole.digest(), BLOCK)]
    for module in list(dict.fromkeys(n for n in names if n not in _NO_MODULES))[: MOST // 2]:
        one = whole.copy()
        one.update(_fed("module", module))
        found.append(Beginning(one.digest(), BLOCK))
    return found


_NO_MODULES = {"prompt", "system", "user", "assistant"}


def _imported(messages: Any) -> Iterator[str]:
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content") if isinstance(message, Mapping) else None
        for part in content if isinstance(content, list) else []:
            if isinstance(part, Mapping) and isinstance(part.get("module"), str):
                yield part["module"]


def _parts(body: Mapping[str, Any]) -> Iterator[str]:
    """The request's texts in the order in which a chat template writes them: what stands in front of
    the conversation first. A text is what lies between two cuts that are always made."""
    for key in ("tools", "system", "instructions", "input_extra", "input_prefix"):
        yield from _items(key, body.get(key))
    for key in ("messages", "input", "prompt"):
        yield from _items(key, body.get(key))


def _items(key: str, value: Any) -> Iterator[str]:
    """Of lists each item by itself, with the name of what it is an item of."""
    if isinstance(value, str):
        yield f"{key}:{value}"
    elif isinstance(value, list) and value and isinstance(value[0], int):
        yield f"{key}:{value}"  # tokens: cut within, where blocks end
    elif isinstance(value, list):
        for item in value:
            yield f"{key}:{_written(item)}"
    elif value is not None:
        yield f"{key}:{_written(value)}"


def _written(item: Any) -> str:
    """A message is its role and its text, however its parts are cut and marked (`cache_control`)."""
    if isinstance(item, Mapping) and set(item) <= {"role", "content", "type"}:
        content = item.get("content")
        text = content if isinstance(content, str) else _joined(content)
        if text is not None:
            return f"{item.get('role')}:{text}"
    return item if isinstance(item, str) else json.dumps(item, sort_keys=True)


def _joined(parts: Any) -> Optional[str]:
    """Of a list of parts that are texts alone."""
    if not isinstance(parts, list):
        return None
    texts: List[str] = []
    for part in parts:
        text = part.get("text") if isinstance(part, Mapping) else None
        if not isinstance(text, str):
            return None
        texts.append(text)
    return "".join(texts)


def _cut(model: str, texts: Iterator[str], most: int) -> List[Beginning]:
    running = hashlib.blake2b(_fed("model", model), digest_size=_DIGEST_BYTES)
    found: List[Beginning] = []
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        for at in range(0, len(raw), BLOCK):
            if len(found) == most:
                return found
            block = raw[at : at + BLOCK]
            running.update(len(block).to_bytes(4, "little") + block)
            found.append(Beginning(running.digest(), len(block)))
        running.update(b"\0end")
    return found


def _fed(kind: str, text: str) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    return kind.encode() + len(raw).to_bytes(4, "little") + raw
