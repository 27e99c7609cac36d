"""LongBench's prompts, told apart: made by hand, and of MiniLongBench where it is at hand."""

import json
import re
import tempfile
import unittest
from pathlib import Path

import places
import longbench
import scores
import sets_test

# What a module of a task holds once, and how a question's modules are counted in its prompt.
ONE_EACH = {"trec": ("Question: ", "\nType:"), "triviaqa": ("Passage:\n", "\nAnswer:\n"),
            "samsum": ("Dialogue: ", "\nSummary:"), "lsht": ("新闻内容：\n", "\n类别：")}
NUMBERED = {"hotpotqa": "Passage {}:\n", "2wikimqa": "Passage {}:\n", "musique": "Passage {}:\n",
            "multi_news": "Passage {}:\n", "passage_count": "Paragraph {}: ",
            "passage_retrieval_en": "Paragraph {}: ", "passage_retrieval_zh": "段落{}："}


class ByHand(unittest.TestCase):
    def read(self, task, items):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "minilongbench").mkdir()
            file = Path(folder) / "minilongbench" / f"{task}.json"
            file.write_text(json.dumps(items))
            return longbench.read(Path(folder), task)

    def test_passages(self):
        head, tail = longbench.PASSAGES.split("{context}")
        context = "Passage 1:\nOslo\nPassage 3:\nno border\nPassage 2:\nRome {input}"
        made = self.read("hotpotqa", [{"prompt": head + context + tail.replace("{input}", "Who?"),
                                       "gold": ["Ann"]}])
        self.assertEqual(made.documents, ["Passage 1:\nOslo\nPassage 3:\nno border\n",
                                          "Passage 2:\nRome {input}"])
        question = made.questions[0]
        self.assertEqual((question.documents, question.golds, question.n_tokens),
                         ([0, 1], ["Ann"], 32))
        self.assertTrue(question.text.endswith("\n\nQuestion: Who?\nAnswer:"))
        self.assertEqual((made.instruction, made.frame), (head, "user"))

    def test_files_and_the_file_that_goes_on(self):
        head = longbench.TASKS["repobench-p"].form.split("{context}")[0]
        made = self.read("repobench-p", [{"prompt": f"{head}a.py\nimport os\nb/c.py\nx = 1\n"
                                          "import a\ny = a.\nNext line of code:\n", "gold": ["z"]}])
        self.assertEqual(made.documents, ["a.py\nimport os\n", "b/c.py\nx = 1\n"])
        self.assertEqual(made.questions[0].text, "import a\ny = a.\nNext line of code:\n")

    def test_examples_and_classes(self):
        head = longbench.TASKS["trec"].form.split("{context}")[0]
        prompt = head + "Question: a ?\nType: City\nQuestion: b ?\nType: Date\nQuestion: c ?\nType:"
        gold = {"answers": ["Date"], "all_classes": ["City", "Date"]}
        made = self.read("trec", [{"prompt": prompt, "gold": gold}])
        self.assertEqual(made.documents, ["Question: a ?\nType: City\n",
                                          "Question: b ?\nType: Date"])
        self.assertEqual(made.questions[0].text, "\nQuestion: c ?\nType:")
        self.assertEqual((made.questions[0].classes, made.frame, made.first_line),
                         (("City", "Date"), "text", True))
        for wrong, message in ((["Date"], "prompt 1 does not say which classes there are"),
                               ({"all_classes": ["Date"]}, "prompt 1 has no gold answer")):
            with self.assertRaisesRegex(ValueError, message):
                self.read("trec", [{"prompt": prompt, "gold": wrong}])

    def test_what_is_missing_is_named(self):
        for prompt in ("", "Question: a ?\nType:", longbench.TASKS["trec"].form):
            with self.assertRaisesRegex(ValueError, "trec.json: prompt 1 is not of LongBench's"):
                self.read("trec", [{"prompt": prompt, "gold": ["x"]}])
        with self.assertRaisesRegex(FileNotFoundError, "trec.json"):
            longbench.read(Path("/no/such/folder"), "trec")
        with self.assertRaisesRegex(ValueError, "words of Chinese"):
            longbench.read(places.SOURCE, "dureader")
        with self.assertRaisesRegex(ValueError, "no task longbench:treck; there are "):
            longbench.read(places.SOURCE, "treck")

    def test_control_characters_become_spaces(self):
        head, tail = longbench.TASKS["lcc"].form.split("{context}")
        made = self.read("lcc", [{"prompt": f"{head}a\x05b\x0c\r\n\t{tail}", "gold": ["x"]}])
        self.assertEqual(made.documents, ["a b \r\n\t"])

    def test_paragraphs(self):
        for border in ("\n\n", "\n", ". ", " ", ""):
            text = (("x" * 300) + border) * 40
            pieces = longbench.paragraphs(text)
            self.assertEqual("".join(pieces), text)
            self.assertTrue(all(longbench.PIECE // 2 <= len(p) <= longbench.PIECE
                                for p in pieces[:-1]), border)
            if border.strip(" "):
                self.assertTrue(all(p.endswith(border.strip(" ")) for p in pieces[:-1]), border)
        self.assertEqual(longbench.paragraphs("short"), ["short"])
        # a paragraph's end goes before a line's, and a line's before a sentence's
        text = "a" * 1500 + "\n\n" + "b" * 300 + "\n" + "c. " * 400
        self.assertEqual(longbench.paragraphs(text)[0], "a" * 1500 + "\n\n")


@unittest.skipUnless(places.DATA.is_dir(), places.WITHOUT_DATA)
class MiniLongBench(sets_test.Checks):
    @classmethod
    def setUpClass(cls):
        cls.made = {task: longbench.read(places.DATA, task) for task in longbench.TASKS}
        cls.prompts = {task: [longbench.CONTROLS.sub(" ", item["prompt"]) for item in json.loads(
            (places.DATA / "minilongbench" / f"{task}.json").read_text())] for task in cls.made}

    def test_every_task_is_there(self):
        files = {f.stem for f in (places.DATA / "minilongbench").glob("*.json")}
        self.assertEqual(files, set(longbench.TASKS) | set(longbench.WORDS_OF_CHINESE))

    def test_all_are_consistent_and_the_same_again(self):
        for task, made in self.made.items():
            self.check(made)
            self.assertEqual(made, longbench.read(places.DATA, task))
            self.assertEqual(len(made.questions), len(self.prompts[task]))

    def test_modules_and_question_are_the_prompt(self):
        for task, made in self.made.items():
            for q, prompt in zip(made.questions, self.prompts[task], strict=True):
                context = "".join(sets_test.texts(made, q))
                if task != "qasper":
                    self.assertEqual(made.instruction + context + q.text, prompt, q.key)
                    continue
                # asked in LongBench's format, stored in another one
                stored = longbench.PASSAGES.split("{context}")
                question = re.search("\n\nQuestion: (.*)\n\nAnswer:$", q.text)[1]
                tail = stored[1].replace("{input}", question)
                self.assertEqual(stored[0] + context + tail, prompt)

    def test_modules_are_what_the_task_is_made_of(self):
        for task, marks in ONE_EACH.items():
            for text in self.made[task].documents:
                self.assertTrue(text.startswith(marks[0]), (task, text[:80]))
                self.assertEqual(text.count(marks[1]), 1, (task, text))
        for task, mark in NUMBERED.items():
            for q in self.made[task].questions:
                for i, text in enumerate(sets_test.texts(self.made[task], q)):
                    self.assertTrue(text.startswith(mark.format(i + 1)), (q.key, text[:80]))

    def test_answers_stand_in_the_passages_of_questions_with_hops(self):
        missing = []
        for task in ("hotpotqa", "2wikimqa", "musique"):
            for q in self.made[task].questions:
                context = " ".join(sets_test.texts(self.made[task], q))
                if q.golds[0] not in ("yes", "no") and \
                        not any(scores.contains(context, g) for g in q.golds):
                    missing.append(q.key)
        self.assertEqual(missing, ["hotpotqa-5"])  # what two people are: in words of its own

    def test_the_paragraph_that_is_asked_for_is_there(self):
        for task in ("passage_retrieval_en", "passage_retrieval_zh"):
            for q in self.made[task].questions:
                mark = q.golds[0] + (": " if task.endswith("en") else "：")
                found = [t.startswith(mark) for t in sets_test.texts(self.made[task], q)]
                self.assertEqual(sum(found), 1, q.key)

    def test_a_count_is_a_number_of_paragraphs(self):
        """Not that of different ones: of 49 and 48 paragraphs 29 and 18 differ, and the answers
        are 46 and 19."""
        made = self.made["passage_count"]
        for q in made.questions:
            self.assertTrue(0 < int(q.golds[0]) <= len(q.documents), q.key)


if __name__ == "__main__":
    unittest.main()
