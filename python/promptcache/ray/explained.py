"""What a server says of a request's prompt before it is computed: which files it would use.

Reads the reports of `/v1/prompt_cache/explain` and `/pml/explain` (docs/SERVER.md). Pure.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional

__all__ = ["Explained", "explained", "route_of"]

_ROUTES = {
    "/pml/run": "/pml/explain",
    "/v1/chat/completions": "/v1/prompt_cache/explain",
    "/chat/completions": "/v1/prompt_cache/explain",
    "/v1/completions": "/v1/prompt_cache/explain",
    "/completions": "/v1/prompt_cache/explain",
    "/v1/prompt_cache/prewarm": "/v1/prompt_cache/explain",
}


class Explained(NamedTuple):
    computed_tokens: int  # those of modules that would be encoded for it among them
    there: Dict[str, int]  # bytes of each file that would be used, by its key
    missing_modules: List[str]  # keys of modules that would be encoded


def route_of(path: str) -> Optional[str]:
    """What explains a request to this path; None where nothing does."""
    return _ROUTES.get(path)


def explained(report: Mapping[str, Any]) -> Explained:
    there: Dict[str, int] = {}
    for part in [*report["modules"], *report["chain"]]:
        if part["state"] != "miss":
            there[part["key"]] = part["bytes"]
    missing = {part["key"]: part["tokens"] for part in report["modules"] if part["state"] == "miss"}
    return Explained(report["computed_tokens"] + sum(missing.values()), there, list(missing))
