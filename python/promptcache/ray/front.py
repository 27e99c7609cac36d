"""What clients talk to: a request's beginnings are found, and a replica's answer is passed back.

A replica that is gone before the first byte of its answer is replaced by another one, and the client
sees nothing of it; one that goes later ends the answer with an error in the protocol's own words.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, AsyncIterator

from ray.exceptions import RayError
from ray.serve.exceptions import BackPressureError, RayServeException
from ray.serve.handle import DeploymentHandle, DeploymentResponseGenerator
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from .asked import Asked, Begun
from .beginnings import beginnings
from .everyone import Everyone
from .failing import broken, refused

__all__ = ["Front"]

# Each on another replica: they seldom die together.
_ATTEMPTS = 3
# As the server has it; it refuses what is longer, packed or not, in its own words.
_MOST_BODY = 16 << 20
_METRICS = "text/plain; version=0.0.4"


class Front:
    def __init__(self, engines: DeploymentHandle) -> None:
        self._engines = engines.options(stream=True)
        self._everyone = Everyone(self._engines)

    async def __call__(self, request: Request) -> Response:
        path = request.url.path
        if path == "/metrics" and request.method == "GET":
            return Response(await self._everyone.metrics(), media_type=_METRICS)
        asked = await asked_of(request)
        if len(asked.body) > _MOST_BODY:
            return refused(path, 413, f"a request has {_MOST_BODY} bytes at most")
        body = read(asked.body)
        asked.beginnings = beginnings(path, body)
        await self._everyone.prepare(asked, path, body)
        return await self._answer(asked, path)

    async def _answer(self, asked: Asked, path: str) -> Response:
        for attempt in range(1, _ATTEMPTS + 1):
            answer = self._engines.remote(asked)
            try:
                begun = await answer.__anext__()
            except asyncio.CancelledError:  # the client left
                answer.cancel()
                raise
            except BackPressureError:
                message = "all replicas of the fleet are busy, and so is their queue; try again later"
                return refused(path, 429, message)
            except (RayError, RayServeException) as error:
                if attempt == _ATTEMPTS:
                    message = f"{_ATTEMPTS} replicas of the fleet failed; try again later ({error})"
                    return refused(path, 503, message)
            else:
                self._everyone.note(path, begun)
                return _passed(path, begun, answer)
        raise AssertionError("the last attempt returns")


async def asked_of(request: Request) -> Asked:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BODY:
            break
    raw_path: bytes = request.scope.get("raw_path") or request.url.path.encode()
    query: bytes = request.scope["query_string"]
    target = (raw_path.split(b"?")[0] + (b"?" + query if query else b"")).decode("latin-1")
    headers = [(bytes(name), bytes(value)) for name, value in request.headers.raw]
    return Asked(request.method, target, headers, bytes(body))


def read(body: bytes) -> Any:
    """None where it is no JSON: the server says so."""
    try:
        return json.loads(body) if body else None
    except ValueError:
        return None


def _passed(path: str, begun: Begun, answer: "DeploymentResponseGenerator[Any]") -> Response:
    if begun.is_whole:
        response = Response(begun.first, begun.status)
        response.raw_headers = [*begun.headers, (b"content-length", b"%d" % len(begun.first))]
        return response
    response = StreamingResponse(_bytes(path, begun, answer), begun.status)
    response.raw_headers = begun.headers
    return response


async def _bytes(
    path: str, begun: Begun, rest: "DeploymentResponseGenerator[Any]"
) -> AsyncIterator[bytes]:
    """Who leaves before the end has the replica leave its server, which ends the answer."""
    is_over = False
    try:
        yield begun.first
        async for chunk in rest:
            yield chunk
        is_over = True
    except (RayError, RayServeException) as error:
        is_over = True
        last = broken(path, _content_type(begun), f"the replica that answered is gone ({error})")
        if not last:
            raise
        yield last
    finally:
        if not is_over:
            rest.cancel()


def _content_type(begun: Begun) -> str:
    of_it = (v for n, v in begun.headers if n.lower() == b"content-type")
    return next(of_it, b"").decode("latin-1")
