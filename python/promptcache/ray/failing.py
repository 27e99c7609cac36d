"""What clients are told where no server of the fleet could, in the words of their protocol."""

from __future__ import annotations

import json
from typing import Any, Dict

from starlette.responses import JSONResponse

__all__ = ["broken", "refused"]

_TYPES = {413: "invalid_request_error", 429: "rate_limit_error"}
_AGAIN_SECONDS = 1


def refused(path: str, status: int, message: str) -> JSONResponse:
    """An answer that is no more than an error."""
    headers = {"Retry-After": str(_AGAIN_SECONDS)} if status in (429, 503) else None
    return JSONResponse(_error(path, status, message), status, headers)


def broken(path: str, content_type: str, message: str) -> bytes:
    """What ends a stream that was begun and cannot go on; nothing where its frame has no room for an
    error, so that the connection must be cut off."""
    error = json.dumps(_error(path, 500, message))
    if content_type.startswith("text/event-stream"):
        return (f"event: error\ndata: {error}\n\n" if _is_named(path) else f"data: {error}\n\n").encode()
    if content_type.startswith("application/x-ndjson"):
        return f"{error}\n".encode()
    return b""


def _is_named(path: str) -> bool:
    return path in ("/v1/messages", "/v1/responses")


def _error(path: str, status: int, message: str) -> Dict[str, Any]:
    kind = _TYPES.get(status, "server_error")
    if path.startswith("/api/"):
        return {"error": message}
    if path.startswith("/v1/messages"):
        return {"type": "error", "error": {"type": "api_error", "message": message}}
    if path == "/v1/responses":
        return {"type": "error", "code": kind, "message": message, "param": None}
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}
