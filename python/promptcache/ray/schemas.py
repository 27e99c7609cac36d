"""Schemas of PML that clients gave to the fleet: each server has each, those that start later too.

The front gives a schema to every replica; the directory keeps what was accepted, and a replica that
starts gives all of it to its server, which encodes nothing until a prompt needs it.
"""

from __future__ import annotations

import json
import re
from typing import Any, Mapping, Optional
from urllib.parse import unquote

from ray import serve
from ray.exceptions import RayError

from .asked import Asked
from .passing import Passing

__all__ = ["PATH", "Schemas", "quietly"]

PATH = "/pml/schemas"
_NAME = re.compile(r"""<schema\b[^>]*?\bname\s*=\s*["']([^"']+)["']""")


class Schemas:
    """Of one replica."""

    def __init__(self, passing: Passing) -> None:
        self._passing = passing

    async def give_to_server(self) -> None:
        for asked in await _directory().schemas.remote():
            async with self._passing.ask(asked) as answer:
                await answer.read()

    async def note(self, asked: Asked) -> None:
        """What the server did: to be called behind each answer that succeeded."""
        path = asked.target.split("?")[0]
        if not path.startswith(PATH):
            return
        try:
            if asked.method == "POST" and (name := _name_of(asked)):
                await _directory().keep_schema.remote(_place(asked, name), quietly(asked))
            elif asked.method == "DELETE":
                name = unquote(path[len(PATH) + 1 :])
                await _directory().drop_schema.remote(_place(asked, name))
        except RayError:  # replicas that start later ask for it, and are told that there is none
            return


def quietly(asked: Asked) -> Asked:
    """The same schema without its modules being encoded, and with one short answer."""
    body = {**_read(asked.body), "encode": False, "stream": False}
    return Asked(asked.method, asked.target, asked.headers, json.dumps(body).encode())


def _directory() -> Any:
    return serve.get_deployment_actor("directory")


def _place(asked: Asked, name: str) -> str:
    """Each key has schemas of its own."""
    keys = [v.decode("latin-1") for n, v in asked.headers if n in (b"authorization", b"x-api-key")]
    return "\n".join([*keys, asked.target.partition("?")[2], name])


def _name_of(asked: Asked) -> Optional[str]:
    text = _read(asked.body).get("schema")
    found = _NAME.search(text) if isinstance(text, str) else None
    return found[1] if found else None


def _read(body: bytes) -> Mapping[str, Any]:
    try:
        read = json.loads(body)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}
