"""The tutorial's code runs, block after block."""

import os
import re

import pytest


def blocks(text):
    """Each block of Python, with its first line's number."""
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S):
        yield text.count("\n", 0, match.start(1)) + 1, match.group(1)


@pytest.mark.parametrize("page", ["docs/PYTHON.md"])
def test_every_block_runs(page, root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    names = {"__name__": "tutorial"}
    for line, block in blocks((root / page).read_text(encoding="utf-8")):
        exec(compile("\n" * (line - 1) + block, str(root / page), "exec"), names)  # noqa: S102
    said = capsys.readouterr().out
    assert "tokens were computed" in said and "did you mean 'oslo'?" in said
    assert os.listdir(tmp_path) == ["promptcache"]
