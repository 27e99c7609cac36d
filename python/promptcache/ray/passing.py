"""Requests passed to a server on a UNIX socket, and its answers passed back, both unchanged."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import AsyncIterator, Optional

import aiohttp
import multidict
import yarl

from .asked import Asked, Headers

__all__ = ["Passing"]

# Of one connection, which are the proxies' own (RFC 9110, 7.6.1), and what the body's new frame says.
_OF_A_HOP = {
    b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding",
    b"upgrade", b"content-length", b"expect",
}  # fmt: skip


def passed(headers: Headers) -> Headers:
    """Those that go through a proxy."""
    return [(name, value) for name, value in headers if name.lower() not in _OF_A_HOP]


class Passing:
    """To be made and used in one event loop."""

    def __init__(self, socket: str) -> None:
        # The server refuses what it has no room for; an answer may take as long as it takes.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(socket, limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )

    @asynccontextmanager
    async def ask(self, asked: Asked) -> AsyncIterator[aiohttp.ClientResponse]:
        headers = multidict.CIMultiDict(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in passed(asked.headers)
        )
        headers.setdefault("Host", "localhost")
        target = yarl.URL(f"http://localhost{asked.target}", encoded=True)
        async with self._session.request(
            asked.method, target, headers=headers, data=asked.body or None, allow_redirects=False
        ) as answer:
            yield answer

    async def text(self, target: str, body: Optional[bytes] = None) -> str:
        """A whole answer of the server's own, of which the status must be 200."""
        asked = Asked("GET" if body is None else "POST", target, [], body or b"")
        async with self.ask(asked) as answer:
            answer.raise_for_status()
            text: str = await answer.text()
            return text

    async def close(self) -> None:
        await self._session.close()
