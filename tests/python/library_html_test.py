"""HTML: tags between texts, whatever stands there; encodings; documents that are meant to take long."""

import encodings.aliases
import html
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from library_support import engine_in, library_in, write
from promptcache.library.decoding import Unreadable
from promptcache.library.html_tags import Tag, _Places, tags_of
from promptcache.library.texts import read

WORDS = st.text(st.sampled_from("ab<>&'\"=/!- \n"), max_size=6)
NAMES = st.sampled_from(["p", "b", "x-y", "h1"])
VALUES = st.one_of(
    WORDS.map(lambda v: '="' + v.replace('"', "") + '"'),
    WORDS.map(lambda v: " =\n'" + v.replace("'", "") + "'"),
    st.just("=plain"), st.just(""),
)  # fmt: skip
PARTS = st.one_of(
    st.tuples(WORDS.map(lambda t: html.escape(t)), st.none()),
    st.tuples(NAMES, st.lists(VALUES, max_size=3), st.booleans()).map(
        lambda t: (f"<{t[0].upper()}{''.join(f' n{v}' for v in t[1])}{' /' * t[2]}>", Tag("", t[0], False, t[2]))
    ),
    NAMES.map(lambda n: (f"</{n} >", Tag("", n, True, False))),
    WORDS.map(lambda t: ("<!--" + t.replace("-", "").lstrip(">") + " -->", Tag())),
    st.sampled_from(["<!DOCTYPE html>", "<?xml version='1.0'?>", "</ no tag>", "<![if !lists]>", "<!-->"]).map(
        lambda t: (t, Tag())
    ),
    st.sampled_from(["<script>a</b><!-- </scripts></SCRIPT>", "<style>p > b</style >"]).map(
        lambda t: (t, Tag("", t[1 : t.index(">")], True, False))
    ),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(PARTS, max_size=12))
def test_a_document_is_its_tags_and_texts(parts):
    source = "".join(written for written, _ in parts)
    texts, tags = [""], []
    for written, tag in parts:
        if tag is None:
            texts[-1] += html.unescape(written)
        elif tag.name:
            tags.append(tag)
            texts.append("")
    found_texts, found_tags = [""], []
    for tag in tags_of(source):
        if tag.name in ("script", "style") and not tag.is_end:
            continue
        if tag.name:
            found_tags.append(tag)
            found_texts.append("")
        else:
            found_texts[-1] += tag.text
    assert (found_texts, found_tags) == (texts, tags)


# Each was the square of its length, or more, to somebody's reader of HTML.
HOSTILE = [
    "<a", "<a ", "</a", "<!", "<!-", "<!--", "<!-- --!", "<?", "<![CDATA[", "<", "</", "<a b='", '<a b=">" ',
    "<a b='\"", "<script", "<script>", "<script></", "<script></scrip", "<style></script>", "<title>a", "<svg>",
    "<template><b>", "<head><i>", "<pre>", "&", "&#", "&#1", "&#x1", "&amp", "&lt;", "=  ", "<a =", "\n", " ", "\t\n",
    "<p>a</p>", "<h1>", "# ", "```\n", "<!-->", "<a/", "<a><!--",
]  # fmt: skip


@pytest.mark.parametrize("part", HOSTILE, ids=repr)
@pytest.mark.parametrize("before, behind", [("", ""), ("<p>x", ">"), ("<svg>", '"-->'), ("&#", "")])
def test_300_000_characters_take_their_length(part, before, behind):
    """By the square of so many nobody would see the end."""
    source = before + part * (300_000 // len(part)) + behind
    read(Path("a.html"), source.encode()).body.encode("utf-8")


class Counted(str):
    looked_at = 0

    def find(self, needle, start=0):
        place = super().find(needle, start)
        type(self).looked_at += (len(self) if place < 0 else place + len(needle)) - start
        return place


@given(
    st.text(st.sampled_from("ab"), max_size=200),
    st.lists(st.tuples(st.sampled_from(["a", "b", "ab", "z"]), st.integers(0, 200)), max_size=60),
)
def test_places_are_searched_once(source, asked):
    Counted.looked_at = 0
    places = _Places(Counted(source))
    for needle, start in sorted(asked, key=lambda a: a[1]):
        start = min(start, len(source))
        expected = source.find(needle, start)
        assert places.of(needle, start) == (len(source) if expected < 0 else expected)
    assert Counted.looked_at <= 4 * (len(source) + 2 * len(asked))


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("<>/!-?='\" ab[]&#;1"), max_size=40) | st.text())
@example("<![a[]]>")
@example("&#" + "9" * 5000 + ";")
@example("<a b=c")
def test_any_text_is_read(source):
    read(Path("a.html"), source.encode("utf-8", "replace")).body.encode("utf-8")


CHARSETS = sorted({*encodings.aliases.aliases, *encodings.aliases.aliases.values(), "idna", "punycode", "undefined",
                   "unicode_escape", "raw_unicode_escape", "utf-7", "none-such", "x" * 500})  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(CHARSETS), st.binary(max_size=12))
@example("idna", b"\xe9")
@example("undefined", b"\xe9")
@example("utf-7", b"\xe9+2AA-")
@example("unicode_escape", b"\xe9\\ud800")
def test_any_charset_gives_a_text_or_a_sentence(charset, raw):
    page = b'<meta charset="' + charset.encode() + b'"><p>caf' + raw
    try:
        read(Path("a.html"), page).body.encode("utf-8")
    except Unreadable as error:
        assert "save it as UTF-8" in str(error) and len(str(error)) < 120


@pytest.mark.parametrize("charset, raw, seen", [
    ("iso-8859-2", "łódź", "łódź"), ("shift_jis", "今日", "今日"), ("windows-1252", "“café”", "“café”"),
    ("koi8-r", "город", "город"),
])  # fmt: skip
def test_declared_charsets(charset, raw, seen):
    for written in (f"<meta charset={charset}>", f'<meta http-equiv="x" content="text/html; charset={charset}">'):
        assert read(Path("a.html"), (written + raw).encode(charset)).body == seen + "\n"


def test_utf16_has_a_mark():
    assert read(Path("a.html"), "<p>café".encode("utf-16")).body == "café\n"


def test_a_page_of_another_charset_is_told_and_the_others_are_read(tmp_path):
    docs = tmp_path / "docs"
    write(docs / "z.html", "<p>The mayor is Zoe.")
    for name, charset in (("a", b"idna"), ("b", b"no-such"), ("c", b"utf-16"), ("d", b"hex"), ("e", b"ascii")):
        (docs / f"{name}.html").write_bytes(b"<meta charset=" + charset + b"><p>caf\xe9")
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        changes = library.add(docs)
        assert changes.added == 1 and len(changes.refused) == 5
        assert all("its charset is" in why for _, why in changes.refused)
        assert library.search("Zoe")
