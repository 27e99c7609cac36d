"""Figures of a study's rows, which are made by hand."""

import unittest

import places  # noqa: F401
import table
from questions import Question, Set

WAYS = ["full", "none", "leading:4"]


def row(question, way, f1, first=1, ttft_us=100, repaired=0, modules=10, documents=2):
    return {"question": question, "way": way, "f1": f1, "first": first, "ttft_us": ttft_us,
            "module_tokens": modules, "repaired_tokens": repaired, "kl": 0.25,
            "documents": documents}


class Summary(unittest.TestCase):
    def setUp(self):
        self.made = Set("made", ["", ""], [Question(k, [0, 1], "", ["x"]) for k in "abc"], ("f1",))
        self.rows = [
            row("a", "full", 1), row("a", "none", 0, 2, 20), row("a", "leading:4", 1, 1, 50, 4),
            row("b", "full", 1), row("b", "none", 1, 1, 10), row("b", "leading:4", 1, 1, 25, 6, 30),
            row("c", "full", 0), row("c", "none", 1)]  # one way is missing
        self.result = table.summary(self.made, WAYS, self.rows)

    def test_questions_that_some_way_did_not_answer_are_left_out(self):
        self.assertEqual({way: r["n"] for way, r in self.result.items()}, dict.fromkeys(WAYS, 2))
        self.assertEqual(self.result["full"]["metrics"]["f1"]["mean"], 1)

    def test_ways_keep_their_order(self):
        self.assertEqual(list(self.result), WAYS)
        backwards = table.summary(self.made, WAYS, self.rows[::-1])
        self.assertEqual(backwards, self.result)

    def test_figures(self):
        none, leading = self.result["none"], self.result["leading:4"]
        self.assertEqual(none["metrics"]["f1"]["difference"][0], -0.5)
        self.assertEqual(none["metrics"]["f1"]["p"], 1)
        self.assertEqual(leading["metrics"]["f1"]["difference"], (0, 0, 0))
        self.assertEqual((none["anew"], leading["anew"]), (0, 10 / 40))
        self.assertEqual((none["first"], leading["first"]), (0.5, 1))
        self.assertEqual((none["faster"], leading["faster"]), ((5 + 10) / 2, (2 + 4) / 2))
        self.assertEqual(none["kl"], 0.25)

    def test_no_question_at_all_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "made"):
            table.summary(self.made, [*WAYS, "self"], self.rows)

    def test_documents_that_were_cut(self):
        self.assertEqual(table.documents(self.made, WAYS, self.rows), (2, 2, 0))
        self.rows[0]["documents"] = 1
        self.assertEqual(table.documents(self.made, WAYS, self.rows), (1, 2, 1))

    def test_a_line_for_each_way(self):
        lines = list(table.lines_of(self.made, self.result))
        self.assertEqual({line.count("|") for line in lines}, {8})
        self.assertEqual([line.split(" | ")[:2] for line in lines[2:]],
                         [["| full", "all"], ["| none", "0.0 %"], ["| leading:4", "25.0 %"]])
        self.assertIn("| 50.0 | -50.0 (-100.0..+0.0; p 1.000) |", lines[3])


if __name__ == "__main__":
    unittest.main()
