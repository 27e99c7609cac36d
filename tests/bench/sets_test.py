"""Questions and their documents: generated ones, and published ones where they are at hand."""

import re
import unittest

import places
import generated
import questions
import scores
import sets

EXTRACTIVE = ("single", "two_hop", "coreference", "which", "needle")


def texts(made, question):
    return [made.documents[i] for i in question.documents]


class Checks(unittest.TestCase):
    def check(self, made):
        """What holds of every set."""
        keys = [q.key for q in made.questions]
        self.assertTrue(keys, made.name)
        self.assertEqual(len(set(keys)), len(keys), made.name)
        self.assertTrue(set(made.metrics) <= set(scores.METRICS), made.name)
        for q in made.questions:
            where = (made.name, q.key)
            self.assertTrue(q.documents and q.golds and q.text, where)
            self.assertEqual(len(set(q.documents)), len(q.documents), where)
            self.assertTrue(all(0 <= i < len(made.documents) for i in q.documents), where)
            self.assertTrue(all(texts(made, q)), where)
            self.assertTrue(all(isinstance(g, str) and g for g in q.golds), where)
            self.assertTrue(not q.classes or set(q.golds) <= set(q.classes), where)
            # a gold answer is as good as an answer can be
            self.assertEqual(scores.best(made.metrics[0], q.golds[0], q.golds, q.classes), 1, where)


class Generated(Checks):
    def test_are_consistent_and_the_same_again(self):
        for name in generated.MAKERS:
            made = sets.read(name, None, None, 50)
            self.check(made)
            self.assertEqual(made, sets.read(name, None, None, 50), name)
            self.assertEqual({len(q.documents) for q in made.questions}, {sets.DOCUMENTS}, name)

    def test_have_as_many_documents_as_they_are_asked_for(self):
        for name, (_, least, most) in generated.MAKERS.items():
            for n in {least, min(most, 8) // 2 * 2}:
                made = sets.read(name, None, n, 20)
                self.assertEqual({len(q.documents) for q in made.questions}, {n}, name)
            for n in (least - 1, most + 1):
                if n > 0:
                    with self.assertRaisesRegex(ValueError, "--documents"):
                        sets.read(name, None, n, 20)

    def test_without_turns_the_question_ends_where_the_answer_begins(self):
        turns = sets.read("single", None, None, 5)
        made = questions.in_text(turns)
        self.check(made)
        self.assertEqual((made.frame, made.first_line), ("text", True))
        self.assertEqual([q.text for q in made.questions],
                         [q.text + "\nAnswer:" for q in turns.questions])
        self.assertEqual([q.golds for q in made.questions], [q.golds for q in turns.questions])
        with self.assertRaisesRegex(ValueError, "its own format"):
            questions.in_text(made)

    def test_answers_stand_in_the_documents(self):
        for name in EXTRACTIVE:
            made = sets.read(name, None, None, 400)
            for q in made.questions:
                self.assertTrue(scores.contains(" ".join(texts(made, q)), q.golds[0]),
                                (name, q.key))

    def test_one_report_is_the_one_that_is_asked_for(self):
        made = sets.read("which", None, None, 400)
        for q in made.questions:
            thing = re.search("mentions (.*)\\?", q.text)[1]
            found = [t for t in texts(made, q) if thing in t]
            self.assertEqual(len(found), 1, q.key)
            self.assertTrue(found[0].startswith(f"Document: Report {q.golds[0]}. "), q.key)

    def test_as_many_documents_mention_a_thing_as_the_answer_says(self):
        made = sets.read("counting", None, None, 400)
        for q in made.questions:
            thing = re.search("mention (.*)\\? ", q.text)[1]
            n = sum(thing in t for t in texts(made, q))
            self.assertEqual(q.golds, [str(n), generated.NUMBERS[n]], q.key)
        self.assertEqual({q.golds[0] for q in made.questions}, {"1", "2", "3", "4"})

    def test_coreference_needs_the_document_before(self):
        made = sets.read("coreference", None, None, 400)
        for q in made.questions:
            name, parts = re.search("Where was (.*) born", q.text)[1], texts(made, q)
            place = next(i for i, t in enumerate(parts) if q.golds[0] in t)
            self.assertNotIn(name, parts[place], q.key)
            self.assertIn(f"{name} wrote a book", parts[place - 1], q.key)

    def test_only_so_many_questions_are_read(self):
        self.assertEqual(len(sets.read("single", None, None, 7).questions), 7)


class Names(unittest.TestCase):
    def test_an_unknown_set_is_an_error_that_names_the_others(self):
        with self.assertRaisesRegex(ValueError, "no set squat; there are squad, "):
            sets.read("squat", places.SOURCE, None, 1)

    def test_published_questions_need_a_folder(self):
        for folder in (None, "/no/such/folder"):
            with self.assertRaisesRegex(FileNotFoundError, "--data"):
                sets.read("squad", folder, None, 1)


@unittest.skipUnless(places.DATA.is_dir(), places.WITHOUT_DATA)
class Published(Checks):
    def read(self, name, n_documents=None):
        made = sets.read(name, places.DATA, n_documents, 400)
        self.check(made)
        self.assertEqual(made, sets.read(name, places.DATA, n_documents, 400))
        return made

    def test_squad(self):
        made = self.read("squad")
        self.assertEqual({len(q.documents) for q in made.questions}, {4})
        for q in made.questions:
            parts = " ".join(texts(made, q))
            self.assertTrue(all(g in parts for g in q.golds), q.key)

    def test_hotpot(self):
        made = self.read("hotpot")
        for q in made.questions:
            if q.golds[0] not in ("yes", "no"):
                self.assertTrue(scores.contains(" ".join(texts(made, q)), q.golds[0]), q.key)

    def test_musique_has_the_answer_of_most_questions_in_the_ten_passages(self):
        """They were looked up for CacheBlend; what they lack no way can find."""
        made = self.read("musique", 10)
        found = [any(scores.contains(" ".join(texts(made, q)), g) for g in q.golds)
                 for q in made.questions]
        self.assertEqual((len(found), sum(found)), (75, 52))


if __name__ == "__main__":
    unittest.main()
