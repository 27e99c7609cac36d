"""What a program formats is what Python formats, or is refused."""

import enum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.program import constants


class Mood(enum.Enum):
    GLAD = "glad"


class Size(str, enum.Enum):
    LARGE = "large"


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
NESTED = st.recursive(
    PLAIN | st.sampled_from([Mood.GLAD, Size.LARGE]) | st.frozensets(st.text(max_size=3), max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
NAMES = st.sampled_from(["a", "b"])
PLACES = st.sampled_from(["%s", "%r", "%a", "%d", "%5.2f", "%x", "%%", "%-6s", "%c", "text"])
NAMED = st.sampled_from(["%(a)s", "%(b)r", "%(a)d", "%%", "%s", "text"])


def has_no_text_of_its_own(value):
    return isinstance(value, (enum.Enum, set, frozenset, list, tuple, dict))


def remainder(text, value):
    import ast

    return constants.ARITHMETIC[ast.Mod](text, value)


def agrees(text, value, parts):
    """The same as Python's, or refused: always where a part has no text of its own."""
    try:
        made = remainder(text, value)
    except (TypeError, ValueError, OverflowError, KeyError):
        try:
            text % value
        except (TypeError, ValueError, OverflowError, KeyError):
            return
        assert any(map(has_no_text_of_its_own, parts))
        return
    assert made == text % value and not any(map(has_no_text_of_its_own, parts))


@settings(max_examples=500, deadline=None)
@given(st.lists(PLACES, max_size=3).map("".join), st.lists(NESTED, max_size=3))
def test_tuples(text, values):
    agrees(text, tuple(values), values)


@settings(max_examples=300, deadline=None)
@given(PLACES, NESTED.filter(lambda v: not isinstance(v, (tuple, dict))))
def test_single_values(text, value):
    agrees(text, value, [value])


@settings(max_examples=500, deadline=None)
@given(st.lists(NAMED, max_size=3).map("".join), st.dictionaries(NAMES, NESTED, max_size=2))
def test_names(text, values):
    agrees(text, values, [values] if "%s" in text.replace("%%", "") else list(values.values()))


@given(st.integers(-9, 9), st.integers(1, 9))
def test_numbers(a, b):
    assert remainder(a, b) == a % b


@pytest.mark.parametrize("values", [[{1}, {2}], (frozenset("ab"), frozenset("cd"))])
def test_sets_are_not_sorted(values):
    with pytest.raises(TypeError, match="sets have no order"):
        dict(constants.PURE)[sorted](values)
