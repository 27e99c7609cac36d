"""Which pieces a question finds: hostile questions, ranks, vectors."""

import sys

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from library_support import engine_in, library_in, towns, write
from promptcache.library.search import fused, words_of

HOSTILE = [
    '"', '""', '"unclosed', "a AND b", "AND", "NOT", "NEAR(a b, 3)", "heading:rome", "text : x", "*",
    "rome*", "^rome", "(", ")", "a + b", "-a", "{heading text}: a", "'; DROP TABLE pieces; --", "\0",
    "a\0b", "?", "%", "_", "__", "é\u0301", "今日", "\ud800", "🦦", " ", "", "a" * 100_000, "x " * 50_000,
]  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    with engine_in(folder) as engine, library_in(folder, engine) as made:
        towns(folder / "docs", 12)
        write(folder / "docs" / "rome.md", "# Rome\n\nAND of NEAR heading: rome, x_y and 今日 café.")
        made.add(folder / "docs")
        yield made


@pytest.mark.parametrize("question", HOSTILE, ids=range(len(HOSTILE)))
def test_no_question_is_an_expression(library, question):
    library.search(question)
    assert len(library.documents()) == 13


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters() | st.sampled_from('"*^():{}+-'), max_size=40))
def test_any_text_is_a_question(library, question):
    assert len(library.search(question)) <= 4


@pytest.mark.parametrize("question", ['"rome"', "rome AND nothing", "NEAR", "cafe", "x_y", "今日"])
def test_words_are_words(library, question):
    assert library.search(question, 1)[0].title == "Rome"


def test_words_of_a_question():
    assert words_of('Who is "it"? WHO* is, x_y!') == ['"who"', '"is"', '"it"', '"x_y"']
    assert words_of("?!") == []
    assert len(words_of(" ".join(map(str, range(1000))))) == 64


def test_the_best_comes_first(library):
    assert library.search("mayor of Town7")[0].title == "Town7"
    assert len(library.search("mayor of Town7", 3)) == 3
    assert library.search("mayors") == library.search("mayor")  # stems
    with pytest.raises(ValueError):
        library.search("x", 0)


def test_words_that_are_nearly_everywhere(tmp_path):
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        text = "".join(f"## S{i}\n\ncommon word{i} {'filler ' * 20}\n\n" for i in range(1600))
        write(tmp_path / "a.md", text)
        library._piece_tokens = 64
        library.add(tmp_path / "a.md")
        assert library._index.row("SELECT max(id) FROM pieces")[0] >= 1600
        assert library.search("common word77", 1)[0].text.startswith("## S77\n")
        assert len(library.search("common", 4)) == 4  # nothing but such words
        assert library.search("common nowhere", 1)


def test_fused():
    assert fused([[1, 2, 3], [3, 1, 2]]) == [1, 3, 2]
    assert fused([[5], [6]]) == [5, 6]
    assert fused([[], []]) == []


def test_vectors_find_what_words_do_not(tmp_path):
    words = ["boat", "ship", "plum", "fruit"]
    kinds = {"boat": 0, "ship": 0, "plum": 1, "fruit": 1}
    asked = []

    def embed(texts):
        asked.append(len(texts))
        return [[sum(kinds[w] == k for w in words if w in t) for k in (0, 1)] for t in texts]

    write(tmp_path / "docs" / "a.txt", "A boat.")
    write(tmp_path / "docs" / "b.txt", "A plum.")
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine, dense=embed) as library:
        library.add(tmp_path / "docs")
        assert asked == [2]
        assert library.search("ship", 1)[0].title == "a"
        assert library.search("fruit", 1)[0].title == "b"
        write(tmp_path / "docs" / "c.txt", "A ship and a plum.")
        library.refresh()
        assert asked[-1] == 1  # the new one alone
    with library_in(tmp_path) as library:
        assert library.search("fruit", 1) == ()


def test_vectors_of_another_embedder_are_made_again(tmp_path):
    def one(texts):
        return numpy.ones((len(texts), 3))

    def two(texts):
        return numpy.eye(5)[[len(t) % 5 for t in texts]]

    docs = towns(tmp_path / "docs", 3)
    with engine_in(tmp_path) as engine:
        with library_in(tmp_path, engine, dense=one) as library:
            library.add(docs)
        with library_in(tmp_path, engine, dense=two) as library:
            library.refresh()
            assert len(library.search("zzz")) == 3
            assert library._index.row("SELECT DISTINCT length(vector) FROM vectors")[0] == 5 * 4


def test_vectors_that_another_process_did_not_make_are_made(tmp_path):
    def embed(texts):
        return [["Town1" in t, 1e-3] for t in texts]

    docs = towns(tmp_path / "docs", 3)
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(docs)
    with library_in(tmp_path, dense=embed) as library:
        assert library.search("? Town1", 1)[0].title == "Town1"
        assert library._index.row("SELECT count(*) FROM vectors") == (3,)


def test_dense_by_wordllama_where_it_is_installed(tmp_path):
    pytest.importorskip("wordllama")
    write(tmp_path / "docs" / "a.txt", "The vessel sank near the harbour.")
    write(tmp_path / "docs" / "b.txt", "Bake the bread for an hour.")
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine, dense=True) as library:
        library.add(tmp_path / "docs")
        assert library.search("ship accident", 1)[0].title == "a"


def test_dense_is_words_alone_without_a_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with library_in(tmp_path, dense=True) as library:
        assert library._vectors is None
