"""database.py: finished games, kept in a file of SQLite."""
import sqlite3

TABLES = """
CREATE TABLE IF NOT EXISTS games (id INTEGER PRIMARY KEY, winner TEXT, rounds INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS strikes (
    game INTEGER NOT NULL REFERENCES games (id), round INTEGER NOT NULL,
    striker TEXT NOT NULL, struck TEXT NOT NULL, harm INTEGER NOT NULL);
"""


class Database:
    def __init__(self, path):
        self.connection = sqlite3.connect(path)
        self.connection.executescript(TABLES)

    def save(self, game):
        """Stores a game that is over. Returns its number."""
        winner = game.winner()
        with self.connection:
            number = self.connection.execute(
                "INSERT INTO games (winner, rounds) VALUES (?, ?)",
                (winner.name if winner else None, game.round)).lastrowid
            self.connection.executemany(
                "INSERT INTO strikes VALUES (?, ?, ?, ?, ?)", [(number, *strike) for strike in game.strikes])
        return number

    def wins(self):
        """How many games each player has won."""
        rows = self.connection.execute("SELECT winner, COUNT(*) FROM games WHERE winner IS NOT NULL GROUP BY winner")
        return dict(rows.fetchall())

    def close(self):
        self.connection.close()
