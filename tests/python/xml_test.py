"""Text in XML is read back as it was, by a parser of somebody else's."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache import _xml

TEXTS = st.text() | st.text(st.sampled_from("a \t\n\r<>&\"']\x85\u2028"), max_size=12)


@given(TEXTS)
def test_texts_and_attributes_are_read_back(said):
    said = _xml.cleaned(said)
    assert _xml.check(said) == said
    read = ElementTree.fromstring(f"<t a={_xml.attribute(said)}>{_xml.text(said)}</t>")
    assert (read.text or "", read.get("a")) == (said, said)


@given(TEXTS, st.sampled_from(["\x00", "\x0b", "\ud800", "\ufffe", "\x1f"]), TEXTS)
def test_what_cannot_be_written(before, character, behind):
    with pytest.raises(ValueError, match="which XML, and so PML, cannot write"):
        _xml.check(_xml.cleaned(before) + character + behind)
    cleaned = _xml.cleaned(before + character + behind)
    assert len(cleaned) == len(before + character + behind) and cleaned[len(before)] == " "


def test_it_is_the_only_one(root):
    for path in (root / "python/promptcache").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert path.name == "_xml.py" or not ("&lt;" in source or "xml.sax" in source), path
