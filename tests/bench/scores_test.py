"""The metrics: by hand, and what holds of any answer."""

import random
import unittest

import places  # noqa: F401
import scores

WORDS = ("the", "cat", "sat", "on", "a", "mat", "Dog.", "dog", "7", "12", "", "\n", "x=1  # y")


def drawn(draw, n=9):
    return " ".join(draw.choices(WORDS, k=draw.randrange(n)))


class Any(unittest.TestCase):
    """Of drawn texts."""

    def setUp(self):
        draw = random.Random(1)
        self.pairs = [(drawn(draw), drawn(draw)) for _ in range(300)]

    def test_every_metric_is_between_0_and_1(self):
        for metric in scores.METRICS:
            for answer, gold in self.pairs:
                score = scores.best(metric, answer, [gold], ("cat", "dog"))
                self.assertTrue(0 <= score <= 1, (metric, answer, gold, score))

    def test_a_text_is_right_about_itself(self):
        for _, gold in self.pairs:
            for metric in ("em", "contains", "f1"):
                self.assertEqual(scores.best(metric, gold, [gold]), 1, (metric, gold))
            if gold:
                self.assertEqual(scores.rouge_l(gold, gold), 1, gold)

    def test_f1_is_of_two_bags_of_words(self):
        draw = random.Random(2)
        for a, b in self.pairs:
            shuffled = a.split()
            draw.shuffle(shuffled)
            self.assertEqual(scores.f1(a, b), scores.f1(b, a))
            self.assertEqual(scores.f1(a, b), scores.f1(" ".join(shuffled), b))

    def test_the_best_of_several_golds_counts(self):
        for a, b in self.pairs:
            self.assertEqual(scores.best("f1", a, [b, a]), 1)
            self.assertEqual(scores.best("f1", a, [b]), scores.f1(a, b))
        self.assertEqual(scores.best("f1", "a", []), 0)


class ShortAnswers(unittest.TestCase):
    def test_articles_case_and_punctuation_do_not_count(self):
        self.assertEqual(scores.normalised("The  Cat, an 'old' one.\n"), "cat old one")
        self.assertEqual(scores.exact_match("The Eiffel Tower!", "eiffel tower"), 1)
        self.assertEqual(scores.exact_match("Eiffel Towers", "eiffel tower"), 0)

    def test_contains_whole_words(self):
        self.assertEqual(scores.contains("It is the cat, I think", "cat"), 1)
        self.assertEqual(scores.contains("concatenate", "cat"), 0)

    def test_f1(self):
        # quick brown fox; brown dog: one common of three and two
        self.assertAlmostEqual(scores.f1("the quick brown fox", "brown dog"), 2 / 5)
        # a word counts as often as both have it
        self.assertAlmostEqual(scores.f1("no no no", "no no"), 4 / 5)
        self.assertEqual(scores.f1("fox", "dog"), 0)

    def test_numbers(self):
        self.assertEqual(scores.numbers("Paragraph 19", "Paragraph 19"), 1)
        self.assertEqual(scores.numbers("19 or 12", "Paragraph 19"), 0.5)
        self.assertEqual(scores.numbers("119", "19"), 0)
        self.assertEqual(scores.numbers("none", "19"), 0)

    def test_labels_share_one_point(self):
        classes = ("City", "State", "Date", "Date of birth")
        self.assertEqual(scores.label("City", "City", classes), 1)
        self.assertEqual(scores.label("City or State", "City", classes), 0.5)
        self.assertEqual(scores.label("State", "City", classes), 0)
        self.assertEqual(scores.label("Town", "City", classes), 0)
        # a class that is a part of the gold one's name is no other class
        self.assertEqual(scores.label("Date of birth", "Date of birth", classes), 1)
        self.assertEqual(scores.label("Date of birth", "Date", classes), 0.5)

    def test_first_line(self):
        self.assertEqual(scores.first_line("\n\nPlace\nQuestion: more"), "Place")
        self.assertEqual(scores.first_line(""), "")


class RougeL(unittest.TestCase):
    def test_one_sentence(self):
        self.assertAlmostEqual(scores.rouge_l("a b c d", "a c d e"), 3 / 4)
        self.assertEqual(scores.rouge_l("c b a", "x y z"), 0)
        self.assertEqual(scores.rouge_l("", "a"), 0)

    def test_sentences_add_what_others_have_not(self):
        # Lin 2004, 3.2: w1 w2 of the first sentence, w1 w3 w5 of the second
        self.assertAlmostEqual(scores.rouge_l("1 2 6 7 8. 1 3 8 9 5", "1 2 3 4 5"), 2 * 4 / (8 + 5))

    def test_words_count_once(self):
        self.assertEqual(scores.rouge_l("a a a", "a"), 1)

    def test_order_counts(self):
        self.assertAlmostEqual(scores.rouge_l("b a", "a b"), 1 / 2)

    def test_white_space_between_full_stops_is_a_word(self):
        self.assertAlmostEqual(scores.rouge_l("a b. ", "a b"), 4 / 5)


class Code(unittest.TestCase):
    def test_whole_per_cent(self):
        self.assertEqual(scores.code("this is a test", "this is a test!"), 0.97)  # 28 of 29
        self.assertEqual(scores.code("abcd", "abce"), 0.75)

    def test_the_first_line_that_is_no_comment(self):
        self.assertEqual(scores.code("\n# why\n```\nreturn 1\nmore", "return 1"), 1)
        self.assertEqual(scores.code("# only a comment", "return 1"), 0)

    def test_indentation_counts(self):
        self.assertEqual(scores.code("    x", "    x"), 1)
        self.assertEqual(scores.code("x", "    x"), 0.33)  # 2 of 6


if __name__ == "__main__":
    unittest.main()
