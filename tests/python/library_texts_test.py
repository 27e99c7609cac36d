"""What is read of files: HTML, PDF, encodings, what XML cannot write."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from library_support import pdf
from promptcache.library.decoding import Unreadable
from promptcache.library.texts import is_readable, read

PAGE = b"""<!DOCTYPE html><html><head><title>The  Zoo &amp; co</title><style>p {}</style></head><body>
<script>var a = "<p>no</p>";</script><h1>Zoo</h1><p>Lions &lt; bears,
in   <b>one</b> line.<br>And another.</p><ul><li>Ape<li>Bee</ul><h3>Fees</h3>
<table><tr><th>Who</th><th>Euro</th></tr><tr><td>All</td><td>6</td></tr></table>
<pre>
a  b
# c
</pre></body></html>"""


def test_html_becomes_headings_paragraphs_items_and_cells():
    text = read(Path("zoo.html"), PAGE)
    assert text.title == "The Zoo & co" and text.marked
    assert text.body == (
        "# Zoo\n\nLions < bears, in one line.\nAnd another.\n\n- Ape\n- Bee\n\n### Fees\n\n"
        "| Who | Euro\n| All | 6\n\n```\n\na  b\n# c\n\n```\n"
    )


@pytest.mark.parametrize(
    "raw, seen",
    [
        (b"<p>one<p>two", "one\n\ntwo\n"),
        (b"<head><title>T</title><body><p>no end of the head", "no end of the head\n"),
        (b"<script>a</script>b<template><script>c</script>d</template>e", "be\n"),
        (b"</script></p>stray ends", "stray ends\n"),
        (b"<p>a<br/>b<hr/>c", "a\nb\n\nc\n"),
        (b'<meta charset="iso-8859-1"><p>caf\xe9', "café\n"),
        (b"<p>caf\xe9 without a word", "café without a word\n"),
        (b'<meta charset="no-such"><p>caf\xc3\xa9', "café\n"),
        (b"", "\n"),
    ],
)
def test_html_that_nobody_wrote_well(raw, seen):
    assert read(Path("a.htm"), raw).body == seen


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(
    ["<p>", "</p>", "<head>", "</head>", "<script>", "</script>", "<pre>", "</pre>", "<title>",
     "</title>", "<body>", "<br/>", "<h2>", "word", " ", "&amp;", "&#0;", "&#xd800;", "<!--", "-->"]
)))  # fmt: skip
def test_any_tags_give_a_text(parts):
    text = read(Path("a.html"), "".join(parts).encode())
    assert "\n\n\n" not in text.body.replace("```", "") or "<pre>" in parts
    text.body.encode("utf-8")


def test_pdf():
    pytest.importorskip("pypdf")
    raw = pdf([["The tram of Rome", "costs six eu-", "ros."], ["Page two"]], "Trams")
    text = read(Path("a.pdf"), raw)
    assert text.title == "Trams" and not text.marked
    assert [page.strip() for page in text.body.split("\n\n")] == [
        "The tram of Rome\ncosts six euros.", "Page two"
    ]  # fmt: skip
    assert read(Path("trams.pdf"), pdf([["x"]])).title == "trams"


@pytest.mark.parametrize("raw", [b"", b"%PDF-1.4\n", pdf([["x"]])[:200], pdf([[]]), b"\0" * 100])
def test_pdf_without_text_is_told(raw):
    pytest.importorskip("pypdf")
    with pytest.raises(Unreadable):
        read(Path("a.pdf"), raw)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=6)), max_size=6))
def test_a_damaged_pdf_is_text_or_told(spoilt):
    pytest.importorskip("pypdf")
    raw = bytearray(pdf([["The tram of Rome"], ["costs six euros."]], "Trams"))
    for place, written in spoilt:
        start = int(place * len(raw))
        raw[start : start + len(written)] = written
    try:
        read(Path("a.pdf"), bytes(raw)).body.encode("utf-8")
    except Unreadable as error:
        assert str(error)


def test_pdf_without_pypdf(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(Unreadable, match="pip install pypdf"):
        read(Path("a.pdf"), pdf([["x"]]))


def test_encodings():
    assert read(Path("a.txt"), b"\xef\xbb\xbfcaf\xc3\xa9\r\nb\rc").body == "café\nb\nc"
    assert read(Path("a.txt"), "café".encode("utf-16")).body == "café"
    with pytest.raises(Unreadable, match="not UTF-8 .byte 3."):
        read(Path("a.txt"), b"caf\xe9")


def test_what_xml_cannot_write_is_a_space():
    assert read(Path("a.txt"), "a\0b\x0bc\x1f\ufffed\x0ce".encode()).body == "a b c  d\n\ne"


def test_titles():
    assert read(Path("x.md"), b"text\n\n# The  *title* #\n").title == "The *title*"
    assert read(Path("notes.md"), b"## no\n").title == "notes"
    assert read(Path("notes.txt"), b"# no\n").title == "notes"
    assert read(Path("notes.md"), b"```\n# no\n```\n").title == "notes"
    assert len(read(Path("x.md"), b"# " + b"long " * 200_000).title) <= 120
    assert len(read(Path("x.html"), b"<title>" + b"long " * 200_000 + b"</title>").title) <= 120


def test_kinds():
    assert all(is_readable(Path(n)) for n in ("a.txt", "b.MD", "c.HTML", "d.pdf"))
    assert not any(is_readable(Path(n)) for n in ("a.py", "b", ".md", "c.docx"))
