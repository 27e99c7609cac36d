"""The index of a library: an SQLite database in the library's folder.

One process writes at a time, for as long as one document or one answer takes; the others wait for
it. Readers go on. A process that dies leaves what it had committed. Used by one thread at a time.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any, Iterator, List, Optional

from ..errors import Corrupt, IOFailure, Mismatch, Unsupported
from .tables import TABLES, VERSION

__all__ = ["FILE_NAME", "Index"]

FILE_NAME = "library.sqlite3"
_WAIT_SECONDS = 60  # for another writer


class Index:
    """rows() reads, write() is a transaction. Raises Corrupt, IOFailure, Mismatch, Unsupported."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        with self._told():
            folder.mkdir(parents=True, exist_ok=True)
            self._open: Optional[sqlite3.Connection] = sqlite3.connect(
                str(self.path), timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self.close()
                raise

    @property
    def _db(self) -> sqlite3.Connection:
        """ValueError where it is closed."""
        if self._open is None:
            raise ValueError("this library is closed")
        return self._open

    @property
    def is_closed(self) -> bool:
        return self._open is None

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")  # a crash of the machine loses the latest
        self._db.execute("PRAGMA foreign_keys = ON")
        self._db.execute("PRAGMA recursive_triggers = ON")
        if self._version() == 0:
            with self.write():
                if self._version() == 0:  # nobody else made the tables meanwhile
                    self._make_tables()
        if self._version() != VERSION:
            raise Mismatch(
                f"{self.path} was written by another version of promptcache; "
                "delete it and add the documents again"
            )

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _make_tables(self) -> None:
        statement = ""
        for line in TABLES.splitlines(keepends=True):
            statement += line
            if sqlite3.complete_statement(statement):
                try:
                    self._db.execute(statement)
                except sqlite3.OperationalError as error:
                    if "fts5" in str(error):
                        raise Unsupported("this Python's SQLite is built without FTS5") from error
                    raise
                statement = ""
        self._db.execute(f"PRAGMA user_version = {VERSION}")

    def close(self) -> None:
        """May be called twice."""
        if self._open is not None:
            self._open.close()
        self._open = None

    # ---- Reading

    def rows(self, sql: str, *values: Any) -> List[Any]:
        with self._told():
            return self._db.execute(sql, values).fetchall()

    def row(self, sql: str, *values: Any) -> Any:
        """The first row, or None."""
        with self._told():
            return self._db.execute(sql, values).fetchone()

    def setting(self, name: str) -> Optional[str]:
        found = self.row("SELECT value FROM settings WHERE name = ?", name)
        return None if found is None else str(found[0])

    @property
    def state(self) -> int:
        """A number that changes with what other connections commit."""
        return int(self.row("PRAGMA data_version")[0])

    # ---- Writing

    @contextlib.contextmanager
    def write(self) -> Iterator[None]:
        """A transaction: all that is done in it is there afterwards, or nothing."""
        with self._told():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def do(self, sql: str, *values: Any) -> int:
        """One change within write(); gives the number of the row that was inserted last."""
        return int(self._db.execute(sql, values).lastrowid or 0)

    def set(self, name: str, value: str) -> None:
        self.do("INSERT OR REPLACE INTO settings VALUES (?, ?)", name, value)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """What SQLite raises, as this package's errors."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise IOFailure(f"{self.path}: {error}") from error
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:
                raise  # a defect of ours
            raise Corrupt(
                f"{self.path}: {error}; delete it and add the documents again"
            ) from error
