"""Which questions bench/serve/tool_calls.py draws of a set."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

import places

sys.path.insert(0, str(places.SOURCE / "bench/serve"))
import tool_calls  # noqa: E402

FUNCTION = {"name": "f", "description": "", "parameters": {"type": "dict", "properties": {}}}


def write_set(folder, n):
    """n questions of one tool each, numbered as they stand."""
    file = Path(folder) / "BFCL_v4_made.json"
    right = Path(folder) / "possible_answer" / file.name
    right.parent.mkdir()
    asked = [{"id": str(i), "question": [[]], "function": [FUNCTION]} for i in range(n)]
    file.write_text("\n".join(map(json.dumps, asked)))
    right.write_text("\n".join(json.dumps({"id": row["id"], "ground_truth": [{"f": {}}]}) for row in asked))


class Drawn(unittest.TestCase):
    def drawn(self, there, n):
        with tempfile.TemporaryDirectory() as folder:
            write_set(folder, there)
            return [int(q.key) for q in tool_calls.read(Path(folder), "made", 1, n)]

    def test_as_many_as_are_asked_for_from_all_of_the_set(self):
        for there, n in ((19, 10), (20, 10), (199, 100), (7, 7)):
            numbers = self.drawn(there, n)
            self.assertEqual(len(numbers), n)
            self.assertEqual(numbers[0], 0)
            gaps = {b - a for a, b in zip(numbers, [*numbers[1:], there])}
            self.assertLessEqual(max(gaps) - min(gaps), 1, (there, n))

    def test_all_where_there_are_fewer(self):
        self.assertEqual(self.drawn(3, 10), [0, 1, 2])


if __name__ == "__main__":
    unittest.main()
