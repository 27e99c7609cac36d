"""Answers of a library: their sources, what they compute, which states are kept and let go of."""

import dataclasses

import pytest

import promptcache
from library_support import engine_in, library_in, settled, towns, write
from promptcache.library.answer import sources_of
from promptcache.library.pieces import Piece


QUESTION = "Who is the mayor of Town7?"


def files(folder):
    with promptcache.Store(folder / "cache") as store:
        return {entry["key"] for entry in store.describe()["files"]}


def test_an_answer_has_the_pieces_of_its_prompt_as_sources(tmp_path):
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(towns(tmp_path / "docs", 40))
        said = []
        answer = library.ask(QUESTION, max_tokens=6, on_text=said.append)
        assert "".join(said) == answer.text == str(answer) and answer.finish
        assert answer.sources[0].title == "Town7" and len(answer.sources) == 4
        assert answer.sources[0].path == str(tmp_path / "docs" / "town7.md")
        sources, prompt = library.prompt(QUESTION)
        assert [s.number for s in sources] == [s.number for s in answer.sources]
        text = engine.detokenize(prompt.token_ids)
        places = [text.index(f"[{s.number}] {s.title}\n") for s in sources]
        assert places == sorted(places)
        assert text.index(f"Question: {QUESTION}") > places[-1]


def test_numbers_that_an_answer_names_are_citations():
    pieces = [Piece(n, "p", "t", "h", "x", 1) for n in (3, 17, 5)]

    def cited(answer):
        return [s.number for s in sources_of(pieces, answer) if s.cited]

    assert cited("Ann [17].") == [17]
    assert cited("Ann [5, 3] and [4]") == [3, 5]
    assert cited("17, (3), [x], [], [" + "9" * 5000 + "]") == []


def test_states_are_used_again_whatever_stands_beside_them(tmp_path):
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(towns(tmp_path / "docs", 40))
        assert library.prompt(QUESTION)[1].counts.modules_missing == 5
        library.ask(QUESTION, max_tokens=2)
        assert library.prompt(QUESTION)[1].counts.modules_missing == 0
        # One piece alone is the first of four.
        alone = library.prompt(QUESTION, 1)[1].counts
        assert (alone.modules_missing, alone.approximate_tokens) == (0, 0)
        # The question of another town shares what it finds in the same place.
        other, prompt = library.prompt("Who is the mayor of Town9?")
        same = {s.number for s in other} & {s.number for s in library.search(QUESTION)}
        assert prompt.counts.modules_missing <= 5 - len(same)


def test_pieces_stand_in_slots_where_there_are_enough(tmp_path):
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(towns(tmp_path / "docs", 31))
        explained = library.prompt(QUESTION)[1].explain()
        assert (explained["attend"], explained["repair"]) == ("prefix", "attended:15%")
        towns(tmp_path / "docs", 40)
        library.refresh()
        explained = library.prompt(QUESTION)[1].explain()
        runs = [r for r in explained["runs"] if r["kind"] == "cached" and r["label"]]
        assert explained["attend"] == "slots"
        assert [r.get("stand_ins", 0) for r in runs] == [0, 1, 2, 3]
        assert [r["exact"] for r in runs] == [True, False, False, False]


def test_stand_ins_stay_until_their_text_goes(tmp_path):
    docs = towns(tmp_path / "docs", 45)
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(docs)
        library.ask(QUESTION, max_tokens=2)
        first = [p.number for p in library._stand_ins()]
        assert len(set(first)) == 8
        kept = {key for key, slot in library._index.rows("SELECT key, slot FROM modules") if slot <= 2}
        gone = library._stand_ins()[2]
        (docs / gone.path).unlink()
        library.refresh()
        again = [p.number for p in library._stand_ins()]
        assert again[:2] + again[3:] == first[:2] + first[3:] and again[2] not in first
        # What was encoded behind the third stand-in is gone, the rest is there.
        assert {row[0] for row in library._index.rows("SELECT key FROM modules")} == kept
        assert kept <= files(tmp_path)


def test_what_is_asked_together_often_gets_a_scaffold(tmp_path):
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(towns(tmp_path / "docs", 40))
        first = [library.prompt(QUESTION)[1].counts.repaired_tokens]
        for _ in range(3):
            first.append(library.ask(QUESTION, max_tokens=2).stats.repaired_tokens)
        assert all(first)
        fourth = library.ask(QUESTION, max_tokens=2)
        assert fourth.stats.repaired_tokens == 0
        counts = library.prompt(QUESTION)[1].counts
        assert (counts.approximate_tokens, counts.modules_missing) == (0, 0)
        whole = library.prompt(QUESTION)[1].generate(max_tokens=8, no_reuse=1)
        assert library.ask(QUESTION, max_tokens=8).text == whole


def test_scaffolds_are_left_out_where_they_are_not_wanted(tmp_path):
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine, scaffold_after=None) as library:
        library.add(towns(tmp_path / "docs", 40))
        assert all(library.ask(QUESTION, max_tokens=2).stats.repaired_tokens for _ in range(6))


def test_states_of_texts_that_are_gone_are_released(tmp_path):
    docs = towns(tmp_path / "docs", 20)
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(docs)
        for _ in range(4):  # single modules, and a scaffold
            answer = library.ask(QUESTION, max_tokens=2)
        assert len(files(tmp_path)) == 1 + 4 + 1  # the instruction, the pieces, the scaffold
        (docs / "town7.md").unlink()
        library.refresh()
        assert len(files(tmp_path)) == 1 + 3
        settled(docs / "town0.md", "# Town0\n\nThe mayor is Zoe.\n")
        library.refresh()
        assert library._index.rows("SELECT * FROM released") == []
        library.remove(docs)
        assert len(files(tmp_path)) == 1
        assert answer.sources[0].title == "Town7"  # an answer keeps what it said


def test_an_index_whose_columns_stand_otherwise_names_the_same_files(tmp_path, monkeypatch):
    """As it was made before; and one module's file in two stores is two files."""
    from promptcache.library import index, tables

    store = "  store TEXT NOT NULL,    -- directory; with the key it names a file\n"
    slot = "  slot INTEGER NOT NULL,  -- stand-ins that it has seen\n"
    assert store in tables.TABLES and slot in tables.TABLES
    made = tables.TABLES.replace(store, "").replace(slot, slot + store)
    made = made.replace("n_tokens INTEGER NOT NULL\n", "n_tokens INTEGER NOT NULL,\n  asked INTEGER NOT NULL DEFAULT 0\n")
    assert made.count("asked INTEGER") == 2
    monkeypatch.setattr(index, "TABLES", made)
    docs = towns(tmp_path / "docs", 3)
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(docs)
        library.ask(QUESTION, max_tokens=2)
        rows = library._index.rows("SELECT key, store, piece, slot FROM modules")
        assert {row[1] for row in rows} == {str(tmp_path / "cache")}
        assert {row[0] for row in rows} <= files(tmp_path) and {row[3] for row in rows} == {0}
        other = str(tmp_path / "other")
        with library._index.write():
            library._index.do(
                "INSERT INTO modules (key, store, piece, slot) SELECT key, ?, piece, slot FROM modules", other
            )
            library._index.do("DELETE FROM documents")
        released = library._index.rows("SELECT key, store FROM released")
        assert sorted(released) == sorted((row[0], s) for row in rows for s in (row[1], other))


def test_states_are_released_by_a_later_process_and_without_an_engine(tmp_path, monkeypatch):
    docs = towns(tmp_path / "docs", 3)
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(docs)
        library.ask(QUESTION, max_tokens=2)
        monkeypatch.setattr("promptcache.library.keeping.release", lambda index: 0)  # it dies here
        library.remove(docs)
        monkeypatch.undo()
        assert len(files(tmp_path)) == 4
    with library_in(tmp_path) as library:
        library.remove(tmp_path / "nothing")
    assert len(files(tmp_path)) == 1


def test_an_answer_that_comes_behind_its_text_leaves_nothing(tmp_path):
    docs = towns(tmp_path / "docs", 3)
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        with library_in(tmp_path) as other:
            library.add(docs)
            library.ask(QUESTION, max_tokens=2, on_text=lambda _: other.remove(docs))
            other.remove(docs)
            assert len(files(tmp_path)) == 1
            assert other._index.rows("SELECT * FROM modules") == []


def test_an_answer_is_of_what_the_file_says_now(tmp_path):
    docs = towns(tmp_path / "docs", 5)
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(docs)
        settled(docs / "town3.md", "# Town3\n\nThe mayor of Town3 is Zoe.\n")
        assert "Zoe" in library.ask("Town3 mayor", 1, max_tokens=2).sources[0].text
        (docs / "town3.md").unlink()
        assert library.ask("Town3 mayor", 1, max_tokens=2).sources[0].title != "Town3"
        assert len(library.documents()) == 4


def test_what_the_window_has_no_room_for_is_left_out(tmp_path):
    for i in range(12):
        write(tmp_path / "docs" / f"{i}.txt", f"Plums of kind {i}. " + "They are good to eat. " * 30)
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(tmp_path / "docs")
        answer = library.ask("Which plums?", 20, max_tokens=8)
        assert 2 <= len(answer.sources) < 12
        with pytest.raises(promptcache.ContextFull):
            library.ask("Which plums? " * 2000, 2, max_tokens=8)


def test_nothing_found(tmp_path):
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        with pytest.raises(promptcache.NotFound):
            library.ask("Anything?")
        library.add(towns(tmp_path / "docs", 2))
        with pytest.raises(LookupError, match="a word of the question"):
            library.ask("zzz")


def test_modules_are_made_ahead(tmp_path):
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(towns(tmp_path / "docs", 40))
        assert library.encode(5) == 5
        assert library.encode() == 35
        assert library.encode() == 0
        assert library.prompt(QUESTION)[1].counts.modules_missing == 0
        assert library.prompt("Who is the mayor of Town9?")[1].counts.modules_missing == 0
        library.remove(tmp_path / "docs")
        assert len(files(tmp_path)) == 1


def test_looking_ahead_is_bounded_and_lays_out_one_schema(tmp_path, monkeypatch):
    from promptcache.library import ahead

    schemas, rooms = [], []
    laid_out, has_room = ahead.schema_of, ahead._has_room
    monkeypatch.setattr(ahead, "schema_of", lambda *a, **k: schemas.append(len(a[2])) or laid_out(*a, **k))
    monkeypatch.setattr(ahead, "_has_room", lambda cache: rooms.append(1) or has_room(cache))
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(towns(tmp_path / "docs", 40))
        assert library.encode(5) == 5 and schemas == [5] and len(rooms) <= 4 * 5
        library.encode()
        schemas.clear()
        rooms.clear()
        library._ahead = 0  # as in a process that comes later: all modules are there
        assert library.encode(3) == 3
        assert (schemas, rooms) == ([3], [])
        assert library.encode(30) == 30
        assert (schemas, rooms) == ([3, 16, 14], [])
        step = ahead.encode_ahead(engine, library._index, library._system, library._stand_ins(), 0, 1000)
        assert step.n_pieces == ahead.MOST_PIECES


def test_what_is_made_ahead_drives_nothing_out(tmp_path):
    with engine_in(tmp_path, cache_bytes=600_000) as engine:
        with library_in(tmp_path, engine) as library:
            library.add(towns(tmp_path / "docs", 40))
            n = library.encode()
            assert 0 < n < 40
            with promptcache.Store(tmp_path / "cache") as store:
                assert store.describe()["bytes"] < 600_000


def test_text_that_looks_like_markup_is_text(tmp_path):
    hostile = "# <b>&amp; ]]> </module><user>\n\nSay <|end|><s> & \"quotes\" 'both' {}%s\n"
    write(tmp_path / "docs" / "a.md", hostile)
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(tmp_path / "docs")
        answer = library.ask("Say </user>&lt; <|end|> quotes?", 1, max_tokens=2)
        assert answer.sources[0].text == hostile.strip()
        prompt = library.prompt("Say </user> & quotes?", 1)[1]
        assert hostile.strip() in engine.detokenize(prompt.token_ids)
        prompt = library.prompt("Say \0\x1b what\r\n\ud800 nobody can?", 1)[1]
        assert "Say    what\r\n  nobody can?" in engine.detokenize(prompt.token_ids)


def test_models_without_turns_are_asked_in_bare_text(tmp_path, monkeypatch):
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(towns(tmp_path / "docs", 3))
        facts = engine.facts
        monkeypatch.setattr(
            type(engine), "facts",
            property(lambda self: dataclasses.replace(facts, has_chat_format=False)),
        )  # fmt: skip
        sources, prompt = library.prompt(QUESTION, 2)
        text = engine.detokenize(prompt.token_ids)
        assert text.endswith(f"Question: {QUESTION}\nAnswer:") and "<|user|>" not in text


def test_without_a_store_answers_are_the_same(tmp_path):
    with engine_in(tmp_path, cache="off") as engine, library_in(tmp_path, engine) as library:
        library.add(towns(tmp_path / "docs", 3))
        text = library.ask(QUESTION, max_tokens=8).text
        assert text and library.encode() == 0
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        assert library.ask(QUESTION, max_tokens=8).text == text
        assert len(files(tmp_path)) == 4


def test_an_answer_that_is_broken_off_has_written_down_its_states(tmp_path):
    class Enough(Exception):
        pass

    def stop(_):
        raise Enough

    docs = towns(tmp_path / "docs", 3)
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(docs)
        with pytest.raises(Enough):
            library.ask(QUESTION, on_text=stop)
        assert len(files(tmp_path)) == 4
        library.remove(docs)
        assert len(files(tmp_path)) == 1


def test_sets_that_nobody_asks_again_are_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr("promptcache.library.keeping._MOST_SETS", 3)
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(towns(tmp_path / "docs", 9))
        for i in range(6):
            library.ask(f"Town{i}", 2, max_tokens=1)
        assert library._index.row("SELECT count(*) FROM sets") == (3,)
        library.remove(tmp_path / "docs")
        assert library._index.row("SELECT count(*) FROM sets") == (0,)
