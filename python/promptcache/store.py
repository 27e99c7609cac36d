"""The directory of module files, without a model."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional

from ._handle import Handle
from ._library import (
    StrPath, c_text, call, callback, calls, ffi, lib, make, owned_text, path_bytes, report,
)  # fmt: skip
from ._options import given_number
from .progress import Bar, Progress

__all__ = ["Store"]

_MODES = {"read-write": 0, "read-only": 1}


class Store(Handle):
    """A directory of module files: by default the engine's own. May be used by many threads."""

    _what = "store"

    def __init__(self, directory: Optional[StrPath] = None, *, mode: str = "read-write") -> None:
        path = ffi.NULL if directory is None else path_bytes(directory)
        number = given_number("mode", mode, _MODES)
        self._own(make(lib.pc_store_open, "pc_store", path, number), lib.pc_store_close)

    def __repr__(self) -> str:
        if self.is_closed:
            return "<promptcache.Store, closed>"
        d = self.describe()
        return f"<promptcache.Store {d['dir']!r}: {len(d['files'])} modules>"

    def describe(self) -> Dict[str, Any]:
        """Each file with its key, bytes, tokens, model and last use; total bytes."""
        result: Dict[str, Any] = report(lib.pc_store_describe, self.handle)
        return result

    def show(self, key: str) -> Dict[str, Any]:
        """Every field of one file's header, and its runs. key: a beginning that one file has."""
        result: Dict[str, Any] = report(lib.pc_store_show, self.handle, c_text(key, "the key"))
        return result

    def verify(self, key: Optional[str] = None, *, progress: Progress = None) -> Dict[str, Any]:
        """Checks every byte of one file, or of all; damage is reported."""
        result: Dict[str, Any]
        if key is not None:
            result = report(lib.pc_store_verify, self.handle, c_text(key, "the key"))
            return result
        with Bar(progress, "file") as bar:
            told = _told(bar, "verifying")
            with calls():
                result = report(
                    lib.pc_store_verify_all, self.handle, told, ffi.NULL
                )
                return result

    def remove(self, key: str) -> None:
        """Removes one file; processes that have it mapped keep it."""
        call(lib.pc_store_remove, self.handle, c_text(key, "the key"), ffi.NULL)

    def clear(self, *, progress: Progress = None) -> int:
        """Removes all files; gives how many."""
        n = ffi.new("uint64_t *")
        with Bar(progress, "file") as bar:
            told = _told(bar, "removing")
            with calls():
                call(lib.pc_store_remove_all, self.handle, told, ffi.NULL, n)
        return int(n[0])

    def gc(self, target_bytes: int, *, progress: Progress = None) -> Dict[str, Any]:
        """Removes the files worth least to keep until at most target_bytes are left."""
        with Bar(progress, "file") as bar:
            told = _told(bar, "removing")
            with calls():
                result: Dict[str, Any] = report(
                    lib.pc_store_gc, self.handle, target_bytes, told, ffi.NULL
                )
                return result

    def pin(self, key: str) -> None:
        """This module is not evicted, by any process, until it is unpinned or removed."""
        call(lib.pc_store_pin, self.handle, c_text(key, "the key"))

    def unpin(self, key: str) -> None:
        """Undoes pin(): it may be evicted again."""
        call(lib.pc_store_unpin, self.handle, c_text(key, "the key"))

    def export(
        self, path: StrPath, keys: Optional[Iterable[str]] = None, *, progress: Progress = None
    ) -> None:
        """Writes modules, every byte verified, to a new file for another machine's store. keys:
        beginnings that one file each has; None: all."""
        texts = None if keys is None else [ffi.new("char[]", c_text(k, "the key")) for k in keys]
        listed = ffi.NULL if texts is None else ffi.new("char *[]", texts)
        with Bar(progress, "file") as bar:
            told = _told(bar, "exporting")
            with calls():
                call(lib.pc_store_export, self.handle, listed, len(texts or ()),
                     path_bytes(path), told, ffi.NULL)  # fmt: skip

    def import_from(self, path: StrPath, *, progress: Progress = None) -> List[str]:
        """Puts the modules of such a file into the store, all verified before one is in; gives their
        keys. Whoever made the file is trusted: the sums find damage, not forgery."""
        with Bar(progress, "file") as bar:
            told = _told(bar, "importing")
            with calls():
                keys = owned_text(lib.pc_store_import, self.handle, path_bytes(path), told, ffi.NULL)
        return keys.split()

    def pull(
        self,
        other: StrPath,
        keys: Optional[Iterable[str]] = None,
        *,
        trust: Iterable[StrPath] = (),
        progress: Progress = None,
    ) -> Dict[str, Any]:
        """Copies modules of another store, a folder, that are not here: keys of 64 digits, or all.
        Each comes whole, so that what was ended goes on. trust: files of public keys, whose signature
        is then asked for. Gives copied, there, and failed, each with its key and why."""
        texts = None if keys is None else [ffi.new("char[]", c_text(k, "the key")) for k in keys]
        listed = ffi.NULL if texts is None else ffi.new("char *[]", texts)
        files = [ffi.new("char[]", path_bytes(file)) for file in trust]
        with Bar(progress, "file") as bar:
            told = _told(bar, "copying")
            with calls():
                result: Dict[str, Any] = report(
                    lib.pc_store_pull, self.handle, path_bytes(other), ffi.new("char *[]", files),
                    len(files), listed, len(texts or ()), told, ffi.NULL)  # fmt: skip
                return result

    def sign(self, private_key: Optional[StrPath] = None, *, progress: Progress = None) -> int:
        """Writes the list of all modules, signed with the Ed25519 key in this file (PEM); gives how
        many they are. Who trusts its public key can use this store, whoever may write to it."""
        n = ffi.new("uint64_t *")
        key = ffi.NULL if private_key is None else path_bytes(private_key)
        with Bar(progress, "file") as bar:
            told = _told(bar, "listing")
            with calls():
                call(lib.pc_store_sign, self.handle, key, ffi.NULL, told, ffi.NULL, n)
        return int(n[0])


def _told(bar: Bar, what: str) -> Any:
    def tell(_: Any, done: int, total: int) -> int:
        bar(what, done, total)
        return 0

    return callback("pc_store_progress", tell)
