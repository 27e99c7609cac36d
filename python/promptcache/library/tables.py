"""The tables of a library's index, and what follows by itself when rows go."""

from __future__ import annotations

__all__ = ["TABLES", "VERSION"]

VERSION = 1  # PRAGMA user_version

TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Folders and files that were added; absolute.
CREATE TABLE roots (path TEXT PRIMARY KEY) WITHOUT ROWID;

CREATE TABLE documents (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  mtime_ns INTEGER NOT NULL,  -- 0: it was written while it was read, and is looked at again
  size INTEGER NOT NULL,      -- bytes
  digest TEXT NOT NULL,       -- SHA-256 of the bytes
  title TEXT NOT NULL,
  problem TEXT                -- why there is no text of it
);

-- A number is never used again, so that an old answer cites nothing else than it did.
CREATE TABLE pieces (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,           -- in its document
  heading TEXT NOT NULL,              -- title and headings
  text TEXT NOT NULL,
  n_tokens INTEGER NOT NULL
);
CREATE INDEX pieces_of_document ON pieces (document, ordinal);

CREATE VIRTUAL TABLE words USING fts5(
  heading, text, content='pieces', content_rowid='id',
  tokenize='porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER words_come AFTER INSERT ON pieces BEGIN
  INSERT INTO words (rowid, heading, text) VALUES (new.id, new.heading, new.text);
END;
CREATE TRIGGER words_go AFTER DELETE ON pieces BEGIN
  INSERT INTO words (words, rowid, heading, text)
  VALUES ('delete', old.id, old.heading, old.text);
END;

CREATE TABLE vectors (
  piece INTEGER PRIMARY KEY REFERENCES pieces ON DELETE CASCADE,
  vector BLOB NOT NULL  -- [n_dimensions] float32, of length 1
);

-- Texts that others are encoded behind: slot i sees those of the slots before it.
CREATE TABLE stand_ins (
  slot INTEGER PRIMARY KEY,
  piece INTEGER NOT NULL UNIQUE REFERENCES pieces ON DELETE CASCADE
);

-- Files of states that answers used; a scaffold's has a row for each of its pieces.
CREATE TABLE modules (
  key TEXT NOT NULL,
  store TEXT NOT NULL,    -- directory; with the key it names a file
  piece INTEGER NOT NULL,
  slot INTEGER NOT NULL,  -- stand-ins that it has seen
  PRIMARY KEY (key, store, piece)
) WITHOUT ROWID;
CREATE INDEX modules_of_piece ON modules (piece);

-- Files of states whose text is gone, to be removed.
CREATE TABLE released (key TEXT, store TEXT, PRIMARY KEY (key, store)) WITHOUT ROWID;

CREATE TRIGGER modules_go AFTER DELETE ON pieces BEGIN
  INSERT OR IGNORE INTO released (key, store)
  SELECT key, store FROM modules WHERE piece = old.id;
  DELETE FROM modules
  WHERE (key, store) IN (SELECT key, store FROM modules WHERE piece = old.id);
  DELETE FROM sets WHERE instr(pieces, ' ' || old.id || ' ') > 0;
END;
CREATE TRIGGER slots_go AFTER DELETE ON stand_ins BEGIN
  INSERT OR IGNORE INTO released (key, store)
  SELECT key, store FROM modules WHERE slot > old.slot;
  DELETE FROM modules WHERE slot > old.slot;
END;

-- What was asked together.
CREATE TABLE sets (
  pieces TEXT PRIMARY KEY,  -- numbers in order, a space around each
  places TEXT NOT NULL,     -- the same in the order of the first prompt
  asked INTEGER NOT NULL,   -- prompts
  latest INTEGER NOT NULL   -- seconds of the Unix epoch
) WITHOUT ROWID;
"""
