"""Which modules stay where a prompt is too long."""

import random
import unittest

import places  # noqa: F401
from window import from_both_ends


class Window(unittest.TestCase):
    def test_all_stay_where_there_is_room(self):
        self.assertEqual(from_both_ends([3, 1, 2], 6), [0, 1, 2])
        self.assertEqual(from_both_ends([], 6), [])

    def test_the_middle_goes(self):
        self.assertEqual(from_both_ends([1] * 10, 4), [0, 1, 8, 9])
        self.assertEqual(from_both_ends([1] * 10, 5), [0, 1, 2, 8, 9])

    def test_both_ends_get_about_as_much(self):
        self.assertEqual(from_both_ends([4, 9, 9, 1, 1, 1, 1], 8), [0, 3, 4, 5, 6])

    def test_an_end_that_does_not_fit_leaves_the_room_to_the_other(self):
        self.assertEqual(from_both_ends([5, 1, 1], 2), [1, 2])
        self.assertEqual(from_both_ends([5, 6], 4), [])

    def test_what_stays_fits_and_no_end_of_the_gap_would(self):
        draw = random.Random(6)
        for _ in range(200):
            sizes = [draw.randrange(1, 20) for _ in range(draw.randrange(1, 15))]
            room = draw.randrange(0, 120)
            kept = from_both_ends(sizes, room)
            self.assertEqual(kept, sorted(set(kept)))
            spare = room - sum(sizes[i] for i in kept)
            self.assertGreaterEqual(spare, 0)
            gap = [i for i in range(len(sizes)) if i not in kept]
            self.assertEqual(gap, list(range(gap[0], gap[-1] + 1)) if gap else [])
            for end in gap[:1] + gap[-1:]:
                self.assertGreater(sizes[end], spare)


if __name__ == "__main__":
    unittest.main()
