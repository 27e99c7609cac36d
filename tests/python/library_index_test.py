"""Documents that come, change and go; processes that die, and that write at the same time."""

import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

import promptcache
from library_support import MODEL, OLD, engine_in, library_in, pdf, settled, towns, write
from promptcache.library import Library

def numbers(library, path):
    return [
        row[0]
        for row in library._index.rows(
            "SELECT pieces.id FROM pieces JOIN documents ON document = documents.id "
            "WHERE path = ? ORDER BY ordinal", str(path),
        )
    ]  # fmt: skip


def agrees(library):
    """The index of words holds what the pieces say, and no more."""
    with library._index.write():
        library._index.do("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    assert library._index.row("PRAGMA integrity_check") == ("ok",)


def test_files_come_change_and_go(tmp_path):
    docs = towns(tmp_path / "docs", 3)
    write(docs / "deep" / "er" / "a.html", "<h1>Zoo</h1><p>Lions.")
    write(docs / ".hidden" / "a.md", "no")
    write(docs / "code.py", "no")
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        assert vars(library.add(docs)) == vars(changes(added=4))
        for path in docs.rglob("*.*"):
            if path.is_file():
                settled(path)
        assert vars(library.refresh()) == vars(changes(unchanged=4))
        settled(docs / "town0.md", "# Town0\n\nThe mayor is Zoe.\n")
        (docs / "town1.md").unlink()
        write(docs / "new.txt", "A new one.")
        assert vars(library.refresh()) == vars(changes(added=1, changed=1, removed=1, unchanged=2))
        assert library.search("Zoe")[0].title == "Town0"
        assert not library.search("Ann1")
        agrees(library)
        assert library.remove(docs) == 4
        assert library.documents() == [] and not library.refresh()
        agrees(library)


def changes(**counts):
    from promptcache.library import Changes

    return Changes(**counts)


def test_a_change_within_a_tick_and_to_the_same_size_is_seen(tmp_path):
    path = write(tmp_path / "docs" / "a.txt", "The mayor is Ann.")
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(path.parent)
        stat = path.stat()
        path.write_text("The mayor is Bob.")
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        assert library.refresh().changed == 1


def test_a_file_is_read_once_for_one_time_and_size(tmp_path):
    path = settled(tmp_path / "docs" / "a.txt", "The mayor is Ann.")
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(path.parent)
        settled(path, "The mayor is Bob.")  # the same time and size: not looked at
        assert library.refresh().unchanged == 1
        settled(path, at=OLD + 10)
        assert library.refresh().changed == 1
        settled(path, at=OLD + 20)  # the same bytes at another time
        assert library.refresh().unchanged == 1


def test_pieces_that_stay_keep_their_numbers_and_none_is_used_again(tmp_path):
    path = tmp_path / "a.md"
    parts = [f"## Part {i}\n\n" + f"Word{i} " * 30 + "\n\n" for i in range(5)]
    settled(path, "# T\n\n" + "".join(parts))
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine, piece_tokens=200) as library:
        library.add(path)
        before = numbers(library, path)
        assert len(before) == 5
        counted = library._index.rows("SELECT text, n_tokens FROM pieces")
        assert all(0 <= n - len(engine.tokenize(text)) <= 4 for text, n in counted)  # line breaks
        changed = [parts[0], parts[3], "## New\n\n" + "Fresh " * 30 + "\n\n", parts[1], parts[4]]
        settled(path, "# T\n\n" + "".join(changed), OLD + 10)
        library.refresh()
        after = numbers(library, path)
        assert [after[i] for i in (0, 1, 3, 4)] == [before[i] for i in (0, 3, 1, 4)]
        assert after[2] > max(before)
        settled(path, "# T\n\n" + "".join(parts), OLD + 20)
        library.refresh()
        assert numbers(library, path)[2] > after[2]
        agrees(library)


def test_the_same_text_twice_in_a_document_is_two_pieces(tmp_path):
    part = "## Same\n\n" + "again " * 30 + "\n\n"
    path = settled(tmp_path / "a.md", part * 3)
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine, piece_tokens=100) as library:
        library.add(path)
        before = numbers(library, path)
        assert len(set(before)) == 3
        settled(path, part * 2, OLD + 10)
        library.refresh()
        assert numbers(library, path) == before[:2]


def test_files_without_text_are_told_once_and_listed(tmp_path):
    path = tmp_path / "docs" / "a.txt"
    path.parent.mkdir()
    path.write_bytes(b"\xff\xfe\xfa")
    settled(path)
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        assert library.add(path.parent).refused[0][0] == str(path)
        assert library.refresh().refused == []
        assert "not UTF-8" in library.documents()[0].problem
        settled(path, "Now it is text.", OLD + 10)
        assert library.refresh().changed == 1
        assert library.documents()[0].problem is None


def test_a_file_that_cannot_be_opened_is_told_once_and_tried_again(tmp_path, monkeypatch):
    path = settled(tmp_path / "docs" / "a.txt", "Towns have mayors.")
    read = type(path).read_bytes

    def refused(self):
        raise PermissionError(13, "Permission denied")

    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(path.parent)
        settled(path, at=OLD + 10)
        monkeypatch.setattr(type(path), "read_bytes", refused)
        assert library.search("mayors") == ()  # what nobody can read is not quoted
        assert library.documents()[0].problem == "Permission denied"
        assert library.refresh().refused == []
        monkeypatch.setattr(type(path), "read_bytes", read)
        assert library.refresh().changed == 1
        assert len(library.search("mayors")) == 1


def test_names_that_are_not_utf8_are_left_out(tmp_path):
    towns(tmp_path / "docs", 1)
    with open(os.fsencode(tmp_path / "docs") + b"/caf\xe9.txt", "w") as file:
        file.write("text")
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        assert library.add(tmp_path / "docs").added == 1


def test_what_cannot_be_added(tmp_path):
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        with pytest.raises(promptcache.NotFound, match="no file or folder"):
            library.add(tmp_path / "none")
        with pytest.raises(promptcache.InvalidArgument):
            library_in(tmp_path, engine, piece_tokens=3).__enter__()
    write(tmp_path / "a.txt", "text")
    with library_in(tmp_path) as library:
        with pytest.raises(promptcache.InvalidArgument, match="engine"):
            library.add(tmp_path / "a.txt")


def test_a_library_keeps_its_size_of_pieces(tmp_path):
    towns(tmp_path / "docs", 1)
    with engine_in(tmp_path) as engine:
        with library_in(tmp_path, engine, piece_tokens=64) as library:
            assert library._piece_tokens == 64
        with library_in(tmp_path, engine, piece_tokens=300) as library:
            assert library._piece_tokens == 64


@pytest.mark.parametrize("spoil", ["all", "middle"])
def test_a_damaged_index_is_told_and_made_again(tmp_path, spoil):
    docs = towns(tmp_path / "docs", 40)
    with engine_in(tmp_path) as engine:
        with library_in(tmp_path, engine) as library:
            library.add(docs)
            path = library._index.path
        raw = bytearray(path.read_bytes())
        start = 0 if spoil == "all" else 4096
        raw[start:] = b"\xa5" * (len(raw) - start)
        path.write_bytes(raw)
        with pytest.raises(promptcache.Corrupt, match="delete it and add"):
            with library_in(tmp_path, engine) as library:
                library.documents()
                library.refresh()
        path.unlink()
        with library_in(tmp_path, engine) as library:
            assert library.add(docs).added == 40


def test_an_index_of_another_version_is_refused(tmp_path):
    with library_in(tmp_path) as library:
        path = library._index.path
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(promptcache.Mismatch, match="another version"):
        library_in(tmp_path).__enter__()


def test_what_is_closed_says_so(tmp_path):
    docs = towns(tmp_path / "docs", 2)
    with engine_in(tmp_path) as engine:
        with library_in(tmp_path, engine, dense=lambda texts: [[1.0]] * len(texts)) as library:
            library.add(docs)
            assert "2 documents" in repr(library)
        library.close()
        assert repr(library).endswith(", closed>")
        uses = [
            lambda: library.search("Town1"), lambda: library.ask("Town1"), lambda: library.prompt("Town1"),
            library.documents, library.refresh, library.rebuild, library.encode,
            lambda: library.add(docs), lambda: library.remove(docs),
        ]  # fmt: skip
        for use in uses:
            with pytest.raises(ValueError, match="this library is closed"):
                use()


def test_rebuild(tmp_path):
    docs = towns(tmp_path / "docs", 5)
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(docs)
        with library._index.write():
            library._index.do("DELETE FROM words")  # an index of words that forgot
        assert not library.search("Town3")
        assert library.rebuild().added == 5
        assert library.search("Town3")[0].title == "Town3"
        agrees(library)


ADDS = """
import sys, promptcache
from promptcache.library import Library
with promptcache.Engine({model!r}, cache_dir=sys.argv[1] + "/cache", threads=1) as engine:
    with Library(sys.argv[1] + "/library", engine, dense=False) as library:
        print("ready", flush=True)
        library.add(sys.argv[2])
print("done", flush=True)
""".format(model=str(MODEL))


def adding(folder, docs):
    return subprocess.Popen(
        [sys.executable, "-c", ADDS, str(folder), str(docs)], stdout=subprocess.PIPE, text=True
    )


def test_a_process_that_is_killed_while_it_adds_leaves_whole_documents(tmp_path):
    docs = tmp_path / "docs"
    for i in range(400):
        write(docs / f"{i}.md", f"# Doc{i}\n\n" + f"Sentence {i} about towns. " * 60)
    child = adding(tmp_path, docs)
    assert child.stdout.readline() == "ready\n"
    library_in(tmp_path).__enter__().close()
    deadline = time.monotonic() + 60
    with library_in(tmp_path) as library:
        while len(library.documents()) < 20 and time.monotonic() < deadline:
            time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        there = library.documents()
        assert 20 <= len(there) < 400
        agrees(library)
        pieces = {d.path: d.pieces for d in there}
        result = library.refresh()
        assert result.added == 400 - len(there)
        whole = {d.path: d.pieces for d in library.documents()}
        assert all(whole[path] == n for path, n in pieces.items())
        agrees(library)


def test_two_processes_add_and_a_third_reads(tmp_path):
    for part in ("a", "b"):
        for i in range(60):
            write(tmp_path / part / f"{i}.md", f"# Doc {part}{i}\n\nWord{part} is in {i}.")
    children = [adding(tmp_path, tmp_path / part) for part in ("a", "b")]
    with library_in(tmp_path) as library:
        seen = 0
        while any(child.poll() is None for child in children):
            n = len(library.documents())
            assert n >= seen
            seen = n
            library.search("Worda Wordb")
            time.sleep(0.01)
    for child in children:
        assert child.stdout.read() == "ready\ndone\n" and child.returncode == 0
        child.stdout.close()
    with library_in(tmp_path) as library:
        assert len(library.documents()) == 120
        agrees(library)


def test_a_reader_sees_what_another_connection_wrote(tmp_path):
    def embed(texts):
        return [[len(t), 1.0, "plum" in t] for t in texts]

    with engine_in(tmp_path) as engine, library_in(tmp_path, engine, dense=embed) as writer:
        with Library(tmp_path / "library", dense=embed) as reader:
            assert reader.search("plum") == ()
            writer.add(towns(tmp_path / "docs", 2))
            assert len(reader.search("plum")) == 2
            writer.remove(tmp_path / "docs" / "town0.md")
            assert [s.title for s in reader.search("plum")] == ["Town1"]


def test_pdfs_wait_for_the_package_that_reads_them(tmp_path, monkeypatch):
    pytest.importorskip("pypdf")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.pdf").write_bytes(pdf([["Herons nest in April."]]))
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        with monkeypatch.context() as without:
            without.setitem(sys.modules, "pypdf", None)
            assert [why for _, why in library.add(docs).refused] == [library.documents()[0].problem]
            assert not library.refresh()  # told of once
            with pytest.raises(promptcache.NotFound, match="this library has no text yet"):
                library.ask("Herons?")
        assert library.refresh().changed == 1
        assert library.documents()[0].problem is None and library.search("Herons", 1)
        # What was read stays where the package goes again.
        monkeypatch.setitem(sys.modules, "pypdf", None)
        assert library.refresh().unchanged == 1 and library.search("Herons", 1)
