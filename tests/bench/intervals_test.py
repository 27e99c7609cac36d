"""What chance allows: intervals of differences, and McNemar's test."""

import random
import unittest
from unittest import mock

import places  # noqa: F401
import intervals


class Difference(unittest.TestCase):
    def test_of_a_constant_is_a_point(self):
        self.assertEqual(intervals.difference([3, 4, 5], [1, 2, 3]), (2, 2, 2))
        self.assertEqual(intervals.difference([0.5] * 9, [0.5] * 9), (0, 0, 0))

    def test_one_question_says_nothing_of_others(self):
        self.assertEqual(intervals.difference([1], [0]), (1, 1, 1))

    def test_holds_its_mean_and_is_the_same_again(self):
        draw = random.Random(3)
        a, b = ([draw.random() for _ in range(30)] for _ in range(2))
        mean, low, high = intervals.difference(a, b)
        self.assertAlmostEqual(mean, sum(a) / 30 - sum(b) / 30)
        self.assertTrue(low < mean < high)
        self.assertEqual(intervals.difference(a, b), (mean, low, high))

    def test_is_as_wide_as_the_normal_law_has_it(self):
        draw = random.Random(4)
        a = [draw.gauss(0, 1) for _ in range(100)]
        _, low, high = intervals.difference(a, [0] * 100)
        spread = sum((x - sum(a) / 100) ** 2 for x in a) ** 0.5 / 100  # of the mean
        self.assertAlmostEqual((high - low) / (2 * 1.96 * spread), 1, delta=0.1)

    def test_covers_the_truth_about_as_often_as_it_says(self):
        draw, covered = random.Random(5), 0
        with mock.patch.object(intervals, "RESAMPLES", 200):
            for _ in range(200):
                a = [draw.gauss(0.3, 1) for _ in range(40)]
                _, low, high = intervals.difference(a, [0] * 40)
                covered += low <= 0.3 <= high
        # 95 % of 200 is 190, give or take 3; percentiles of 40 values fall short of it a little
        self.assertTrue(176 <= covered <= 198, covered)

    def test_pairs_are_pairs(self):
        with self.assertRaises(ValueError):
            intervals.difference([1, 2], [1])


class McNemar(unittest.TestCase):
    def test_by_hand(self):
        # 1 won, 5 lost: twice (1 + 6) of 64
        a, b = [1, 0, 0, 0, 0, 0, 1, 0], [0, 1, 1, 1, 1, 1, 1, 0]
        self.assertEqual(intervals.mcnemar(a, b), 14 / 64)
        self.assertEqual(intervals.mcnemar(b, a), 14 / 64)
        self.assertEqual(intervals.mcnemar([1] * 10, [0] * 10), 2 / 1024)

    def test_no_difference_is_likely(self):
        self.assertEqual(intervals.mcnemar([1, 0], [1, 0]), 1)
        self.assertEqual(intervals.mcnemar([1, 0], [0, 1]), 1)

    def test_is_none_where_answers_are_right_in_part(self):
        self.assertIsNone(intervals.mcnemar([0.5, 1], [0, 1]))


if __name__ == "__main__":
    unittest.main()
