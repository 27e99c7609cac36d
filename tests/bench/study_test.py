"""A study with a model that is made up: which answers are asked for, kept and found again."""

import re
import tempfile
import types
import unittest
from pathlib import Path

import places  # noqa: F401
import study
from questions import Question, Set

ABOUT = {"set": "made", "model": "none"}


class FakeClient:
    """Words are tokens. Answers with the prompt's last word, or that it is wrong without reuse."""

    engine, room = None, 1000

    def __init__(self):
        self.asked = []

    def parse(self, kind, owner, text, *_):
        return text

    def prompt(self, schema, text):
        assert all(f'name="{d}"' in schema for d in re.findall(r"<(d\d+)/>", text))
        return text

    def close_prompt(self, prompt):
        pass

    close_schema = encode = close_prompt

    def window(self):
        return self.room

    def tokens_of_text(self, text):
        return len(text.split())

    def tokens_of_prompt(self, prompt):
        return len(re.sub("<[^>]*>", " ", prompt).split())

    def answer(self, prompt, n_tokens, reuse=True, repair=None):
        self.asked.append((re.findall(r"<(d\d+)/>", prompt), reuse, repair))
        stats = types.SimpleNamespace(ttft_us=10, prompt_tokens=9, cached_tokens=6,
                                      repaired_tokens=2 if repair not in (None, "none") else 0)
        return types.SimpleNamespace(text="right\nor so" if reuse else "wrong\nright", first=1,
                                     logits=[0.0, 1.0 if reuse else 2.0], stats=stats)


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.results = Path(folder.name) / "rows.jsonl"
        questions = [Question("a", [0, 1, 2], "why", ["right"], 4),
                     Question("b", [3], "why", ["right"], 4)]
        self.made = Set("made", ["one two three"] * 3 + ["word " * 50], questions, ("em",))

    def run_with(self, ways, room=1000, about=ABOUT):
        client = FakeClient()
        client.room = room
        done = study.Study(client, self.made, ways, self.results, about)
        done.run()
        return client, done

    def test_the_full_prefill_comes_first_and_rows_are_kept(self):
        client, done = self.run_with(["full", "none", "leading:2"])
        documents = ["d0", "d1", "d2"]
        self.assertEqual(client.asked[:3], [(documents, False, None), (documents, True, "none"),
                                            (documents, True, "leading:2")])
        rows = study.read_rows(self.results, ABOUT)
        self.assertEqual(rows, done.rows)
        self.assertEqual([(r["question"], r["way"]) for r in rows],
                         [(k, w) for k in "ab" for w in ("full", "none", "leading:2")])
        self.assertEqual([r["kl"] for r in rows[::3]], [0, 0])
        self.assertGreater(rows[1]["kl"], 0)
        self.assertEqual((rows[2]["module_tokens"], rows[2]["repaired_tokens"]), (8, 2))

    def test_only_what_is_missing_is_asked_again(self):
        self.run_with(["full", "none"])
        client, done = self.run_with(["full", "none", "self"])
        self.assertEqual([(reuse, repair) for _, reuse, repair in client.asked],
                         [(False, None), (True, "none")] * 2)  # the full one for the divergence
        self.assertEqual([r["way"] for r in done.rows[4:]], ["self", "self"])
        self.assertEqual(self.run_with(["full", "none", "self"])[0].asked, [])

    def test_a_way_with_other_states_asks_a_client_of_them(self):
        clients = {}

        def open_client(kv):
            self.assertNotIn(kv, clients)
            clients[kv] = FakeClient()
            return clients[kv]
        first = FakeClient()
        done = study.Study(first, self.made, ["full", "none", "none@q4", "full@q8", "leading:2@q4"],
                           self.results, ABOUT, open_client)
        done.run()
        self.assertEqual([(reuse, repair) for _, reuse, repair in first.asked],
                         [(False, None), (True, "none")] * 2)
        self.assertEqual([(reuse, repair) for _, reuse, repair in clients["q4"].asked],
                         [(True, "none"), (True, "leading:2")] * 2)
        self.assertEqual([reuse for _, reuse, _ in clients["q8"].asked], [False] * 2)
        self.assertEqual([r["way"] for r in done.rows[:5]],
                         ["full", "none", "none@q4", "full@q8", "leading:2@q4"])

    def test_rows_of_another_study_are_refused(self):
        self.run_with(["full"])
        with self.assertRaisesRegex(ValueError, "--results"):
            self.run_with(["full"], about={**ABOUT, "model": "other"})

    def test_the_first_line_counts_where_a_set_says_so(self):
        for self.made.first_line, em in ((False, [0, 0]), (True, [0, 1])):
            self.results.unlink(missing_ok=True)
            rows = self.run_with(["full", "none"])[1].rows
            self.assertEqual([r["em"] for r in rows[:2]], em)

    def test_documents_that_do_not_fit_are_cut_from_the_middle(self):
        # "why" and the instruction are in every prompt; an answer has 4 tokens
        fixed = FakeClient().tokens_of_prompt("why") + 4 + study.BORDERS
        client, done = self.run_with(["full"], room=fixed + 6)
        self.assertEqual(client.asked, [(["d0", "d2"], False, None)])
        self.assertEqual([r["documents"] for r in done.rows], [2])
        self.assertEqual(done.left_out, ["b"])
        self.results.unlink()
        client, _ = self.run_with(["full"], room=fixed + 5)
        self.assertEqual(client.asked, [(["d0"], False, None)])


if __name__ == "__main__":
    unittest.main()
