"""How a prompt is shown in a notebook: its positions as a bar, by where their states come from."""

from __future__ import annotations

import html
from typing import Any, Dict

__all__ = ["position_map"]

# From what a run's states come, and what it is drawn in.
_COLOURS = {
    "module": "#4c9a6a",
    "module, approximate": "#8fbf9f",
    "module, to be encoded": "#b0b0b0",
    "kept": "#3f7fbf",
    "computed": "#d9a441",
}


def position_map(explained: Dict[str, Any]) -> str:
    """HTML of what Prompt.explain gives."""
    runs = explained["runs"]
    total = sum(run["tokens"] for run in runs) or 1
    bars, rows = [], []
    for run in runs:
        kind = _kind(run)
        label = html.escape(run["label"] or "text")
        bars.append(
            f'<div title="{label}: {run["tokens"]} tokens, {kind}" '
            f'style="width:{100 * run["tokens"] / total:.2f}%;background:{_COLOURS[kind]}"></div>'
        )
        rows.append(
            f"<tr><td>{run['position']}</td><td>{label}</td><td>{run['tokens']}</td>"
            f"<td>{kind}</td></tr>"
        )
    head = "<tr><th>position</th><th>what</th><th>tokens</th><th>from</th></tr>"
    return (
        f'<div style="display:flex;height:1.2em">{"".join(bars)}</div>'
        f"<table>{head}{''.join(rows)}</table>"
    )


def _kind(run: Dict[str, Any]) -> str:
    if run["kind"] != "cached":
        return "kept" if run.get("chained_tokens") else "computed"
    if run["state"] == "miss":
        return "module, to be encoded"
    return "module" if run.get("exact", True) else "module, approximate"
