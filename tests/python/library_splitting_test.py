"""Pieces of a text: nothing is lost, order is kept, sizes are within bounds."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from library_support import engine_in
from promptcache.library.headings import atx, short
from promptcache.library.splitting import split

LINES = st.sampled_from(
    ["# One", "## Two", "### Three #", "Title\n=====", "Sub\n---", "```", "~~~", "", "", "  ",
     "A sentence. Another one! A third?", "word " * 40, "x" * 90, "今日は。 良い天気です。", "- item",
     "| a | b |\n|---|---|", "---", "\t# no heading", "#nor this", "\u2028", "\x85", "\x1c"]
)  # fmt: skip
TEXTS = st.one_of(st.lists(LINES, max_size=40).map("\n".join), st.text(max_size=400))


def words(text):
    """A tokenizer in which a word, a sign and white space are a token each."""
    return len(re.findall(r"\w+|\s+|[^\w\s]", text))


def characters(text):
    return len(text)


@settings(max_examples=400, deadline=None)
@given(TEXTS, st.booleans(), st.integers(1, 60), st.sampled_from([words, characters]))
@example("", True, 16, words)
@example("\n\n\n", True, 16, words)
@example("。" * 50, False, 3, characters)
def test_pieces_cover_the_text(text, marked, max_tokens, count):
    pieces = split(text, marked, max_tokens, count)
    assert "".join(text[p.start : p.end] for p in pieces) == text
    assert all(p.start < p.end for p in pieces)
    for p in pieces:
        assert p.n_tokens == count(text[p.start : p.end])
        assert p.n_tokens <= max_tokens or p.end - p.start == 1


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.booleans(), st.integers(4, 60))
def test_neighbours_of_a_section_that_fit_are_one(text, marked, max_tokens):
    pieces = split(text, marked, max_tokens, characters)
    starts = set(line_starts(text)) if marked else set()
    for a, b in zip(pieces, pieces[1:]):
        if b.start not in starts and a.headings == b.headings:
            assert b.end - a.start > max_tokens


def line_starts(text):
    yield 0
    yield from (m.end() for m in re.finditer("\n", text))


def test_real_tokens_are_within_bounds(tmp_path):
    text = "\n\n".join(f"Paragraph {i} says that towns have mayors. " * (i % 7 + 1) for i in range(60))
    with engine_in(tmp_path) as engine:
        pieces = split(text, False, 64, lambda t: len(engine.tokenize(t)))
        assert len(pieces) > 10
        assert "".join(text[p.start : p.end] for p in pieces) == text
        assert max(len(engine.tokenize(text[p.start : p.end])) for p in pieces) <= 64


@pytest.mark.parametrize(
    "text, headings",
    [
        ("# A\n" + "a " * 30 + "\n## B\n" + "b " * 30, [("A",), ("A", "B")]),
        ("## B\n" + "b " * 30 + "\n# A\n" + "a " * 30, [("B",), ("A",)]),
        ("A\n===\n" + "a " * 30 + "\nB\n---\n" + "b " * 30, [("A",), ("A", "B")]),
        ("```\n# no\n```\n" + "a " * 30, [()]),
        ("```\n# no\n" + "a " * 30, [()]),  # a fence that nobody closes
        ("~~~\n```\n# no\n~~~\n# A ##\n" + "a " * 30, [(), ("A",)]),
        ("---\n# no: yaml\n---\n# A\n" + "a " * 30, [(), ("A",)]),
        ("#no\n" + "a " * 30, [()]),
    ],
)
def test_headings(text, headings):
    pieces = split(text, True, 80, words)
    assert [p.headings for p in pieces] == headings
    assert [p.headings for p in split(text, False, 1000, words)] == [()]


PATTERN = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$")


@settings(max_examples=1000, deadline=None)
@given(st.text(st.sampled_from("## \tab\u2003"), max_size=14))
def test_lines_that_are_headings(line):
    """The same as by the pattern that says it in a line."""
    found = PATTERN.match(line)
    expected = found and (len(found.group(1)), (found.group(2) or "").strip())
    assert atx(line) == expected


@pytest.mark.parametrize(
    "heading",
    ["# " + "long " * 200_000, "# a" + " " * 1_000_000 + "b", "long " * 200_000 + "\n===",
     "#" + " #" * 500_000 + "x"],
    ids=["words", "white space", "underlined", "signs"],
)  # fmt: skip
def test_a_line_of_a_million_characters_is_a_short_heading(heading):
    text = heading + "\n\n" + "A sentence. " * 200
    pieces = split(text, True, 64, characters)
    assert "".join(text[p.start : p.end] for p in pieces) == text
    assert {len(h) <= 120 for p in pieces for h in p.headings} == {True}
    title = pieces[-1].headings[0]
    assert title.endswith("…") and title[:-1] in text


@given(st.text(max_size=300))
def test_titles_are_short(title):
    made = short(title)
    assert len(made) <= 120 and (made == title.strip() or title.strip().startswith(made[:-1]))


def test_small_sections_stand_together():
    text = "# Menu\n\n" + "".join(f"## Dish {i}\n\nIt is good.\n\n" for i in range(4))
    assert [p.headings for p in split(text, True, 200, words)] == [("Menu",)]
    apart = split(text + "# Wine\n\nThere is none.\n", True, 200, words)
    assert [p.headings for p in apart] == [()]  # what they share
    alone = split(text, True, 20, words)
    assert [p.headings for p in alone] == [("Menu", f"Dish {i}") for i in range(4)]
    assert text[: alone[0].end].startswith("# Menu\n\n## Dish 0")


def test_borders_are_the_coarsest_that_fit():
    paragraph = "One two three. Four five six."
    text = f"{paragraph}\n\n{paragraph}\n\n{paragraph}"
    whole = [text[p.start : p.end].strip() for p in split(text, False, 16, words)]
    assert whole == [paragraph] * 3
    halves = [text[p.start : p.end].strip() for p in split(text, False, 8, words)]
    assert halves == ["One two three.", "Four five six."] * 3
