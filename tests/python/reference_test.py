"""The reference, which pdoc makes of docstrings, and that there is one of whatever is public."""

import importlib
import inspect

import pytest

import promptcache

MODULES = ["promptcache", "promptcache.library", "promptcache.program"]
# What says it all by its name, or has it from Python.
PLAIN = {"close", "is_closed", "handle"}


def public(module):
    """Each class and function of a module, and each method of these classes that is the package's own."""
    for name in module.__all__:
        found = getattr(module, name)
        if not callable(found) or not getattr(found, "__module__", "").startswith("promptcache"):
            continue
        yield f"{module.__name__}.{name}", found
        for inner, member in vars(found).items() if inspect.isclass(found) else ():
            member = getattr(member, "fget", getattr(member, "__func__", member))
            if inspect.isfunction(member) and not inner.startswith("_"):
                yield f"{module.__name__}.{name}.{inner}", member


@pytest.mark.parametrize("name", MODULES)
def test_what_is_public_is_described(name):
    bare = [where for where, found in public(importlib.import_module(name)) if not inspect.getdoc(found)]
    assert bare == []


def test_it_is_built(tmp_path):
    pdoc = pytest.importorskip("pdoc", reason="scripts/python installs pdoc")
    pdoc.pdoc(*MODULES, output_directory=tmp_path)
    page = (tmp_path / "promptcache.html").read_text(encoding="utf-8")
    for name in promptcache.__all__:
        assert f'id="{name}"' in page, name
    assert "Raises NotFound, Corrupt" in page  # errors,
    assert "[vocab_size] float32" in page  # shapes
    assert "(docs/RELIABILITY.md)" in page
    assert 'id="Library.ask"' in (tmp_path / "promptcache/library.html").read_text(encoding="utf-8")
