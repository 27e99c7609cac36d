"""Folders that nobody can look into: a disk that is not there, a folder of somebody else's."""

import os
import shutil

import pytest

import promptcache
from library_support import engine_in, library_in, settled, towns, write
from promptcache.library import Changes
from promptcache.library.watching import watch


def titles(library):
    return [d.title for d in library.documents()]


def denied(monkeypatch, *folders):
    """As for a user who has no right to read them; the superuser, who runs tests in containers, has."""
    scan, stat = os.scandir, os.stat

    def refuse(path, inside):
        for folder in map(str, folders):
            if str(path).startswith(folder + "/" if inside else folder):
                raise PermissionError(13, "Permission denied", str(path))

    def scandir(path="."):
        refuse(path, False)
        return scan(path)

    def status(path, *args, **kwargs):
        if isinstance(path, (str, os.PathLike)):
            refuse(os.fspath(path), True)
        return stat(path, *args, **kwargs)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(os, "stat", status)


@pytest.mark.parametrize("what", ["moved", "empty", "denied"])
def test_a_folder_that_cannot_be_looked_into_keeps_its_documents(tmp_path, monkeypatch, what):
    docs, other = towns(tmp_path / "disk" / "docs", 3), write(tmp_path / "other" / "a.txt", "Some text.")
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(docs, other.parent)
        if what == "denied":
            denied(monkeypatch, docs)
        else:
            shutil.move(docs, tmp_path / "aside")
        if what == "empty":
            docs.mkdir()
        settled(other, "Another text.")
        changes = library.refresh()
        assert (changes.changed, changes.removed) == (1, 0)
        [(path, why)] = changes.unreachable
        assert path == str(docs) and "3 documents of it stay as they were read" in why
        assert {"moved": "it is not there", "empty": "it is empty", "denied": "Permission"}[what] in why
        assert titles(library) == ["Town0", "Town1", "Town2", "a"]
        # Nor does a question that finds them, or making the index again.
        assert library.search("Town1", 1)[0].title == "Town1"
        assert library.rebuild().unreachable and "Town1" in titles(library)
        if what != "moved":
            docs.rmdir() if what == "empty" else monkeypatch.undo()
        if what != "denied":
            shutil.move(tmp_path / "aside", docs)
        (docs / "town0.md").unlink()
        changes = library.refresh()
        assert changes.removed == 1 and not changes.unreachable
        assert library.remove(docs) == 2


def test_a_folder_in_a_folder_keeps_its_documents(tmp_path, monkeypatch):
    docs = towns(tmp_path / "docs", 2)
    write(docs / "deep" / "er" / "a.md", "# Deep\n\nLions.")
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(docs)
        denied(monkeypatch, docs / "deep")
        (docs / "town0.md").unlink()
        changes = library.refresh()
        assert changes.removed == 1 and [path for path, _ in changes.unreachable] == [str(docs / "deep")]
        assert library.search("Lions")
        monkeypatch.undo()
        shutil.rmtree(docs / "deep")  # that is a deed
        assert library.refresh().removed == 1 and titles(library) == ["Town1"]


def test_a_file_by_itself(tmp_path):
    path = write(tmp_path / "disk" / "a.txt", "The mayor is Ann.")
    write(tmp_path / "disk" / "b.txt", "No part of it.")
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        library.add(path)
        shutil.move(path.parent, tmp_path / "aside")
        assert library.refresh().unreachable[0][0] == str(path)
        assert library.search("mayor")
        shutil.move(tmp_path / "aside", path.parent)
        path.unlink()
        assert library.search("mayor") == () and not library.refresh().unreachable


def test_a_folder_that_was_always_empty_is_nothing_to_tell(tmp_path):
    (tmp_path / "docs").mkdir()
    with engine_in(tmp_path) as engine, library_in(tmp_path, engine) as library:
        assert vars(library.add(tmp_path / "docs")) == vars(Changes())


def test_watching_tells_of_it_once(tmp_path):
    docs = towns(tmp_path / "docs", 1)
    told = []
    with engine_in(tmp_path, cache="off") as engine, library_in(tmp_path, engine) as library:
        library.add(docs)
        shutil.move(docs, tmp_path / "aside")
        looks = iter([False] * 8)
        watch(library, 1e-6, told.append, lambda: next(looks, True))
        assert [len(changes.unreachable) for changes in told] == [1]
        for never in (0, -1, float("nan")):
            with pytest.raises(promptcache.InvalidArgument, match="more than 0"):
                watch(library, never, told.append)
