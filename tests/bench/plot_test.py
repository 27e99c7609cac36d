"""The plot of points against tokens computed anew, and the command around it."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

import places
import plot

SVG = "{http://www.w3.org/2000/svg}"
WAYS = {"full": (0, 0, 0, 0), "none": (0, -20, -30, -10), "self": (0, -25, -35, -15),
        "scaffold": (0, 0, -3, 3), "leading:8": (10, -10, -18, -2), "leading:64": (50, -5, -12, 1),
        "selected:15%": (10, -8, -16, 0)}


def study_of(ways):
    figures = {way: {"n": 9, "anew": anew / 100, "metrics": {"f1": {
        "mean": 0.5 + gain / 100, "difference": [gain / 100, low / 100, high / 100]}}}
        for way, (anew, gain, low, high) in ways.items()}
    return {"set": "a <set>", "model": "m & n", "metrics": ["f1"], "ways": figures}


class Plot(unittest.TestCase):
    def drawn(self, ways):
        return ElementTree.fromstring(plot.plot(study_of(ways), "f1"))

    def test_a_curve_for_each_kind_of_repair(self):
        lines = [p.get("points").split() for p in self.drawn(WAYS).iter(SVG + "polyline")]
        # leading from none over two points, selected over one; single ways are points
        self.assertEqual(sorted(len(points) for points in lines), [1, 1, 1, 2, 3])

    def test_words_are_escaped_and_say_what_was_measured(self):
        words = " ".join(t.text for t in self.drawn(WAYS).iter(SVG + "text"))
        for part in ("a <set>, m & n, 9 questions", "full prefill's 50.0 %", "leading", "scaffold",
                     "64", "15%"):
            self.assertIn(part, words)

    def test_up_is_better_and_right_is_dearer(self):
        axes = plot.Axes(plot.series_of(study_of(WAYS)["ways"], "f1"))
        self.assertLess(axes.y(-5), axes.y(-10))
        self.assertLess(axes.x(10), axes.x(50))
        self.assertTrue(plot.TOP <= axes.y(3) and axes.y(-35) <= plot.TOP + plot.HEIGHT)
        self.assertLessEqual(axes.x(50), plot.LEFT + plot.WIDTH)

    def test_an_interval_reaches_from_its_low_to_its_high_end(self):
        axes = plot.Axes(plot.series_of(study_of(WAYS)["ways"], "f1"))
        found = {(e.get("y1"), e.get("y2")) for e in self.drawn(WAYS).iter(SVG + "line")}
        for _, (_, _, low, high) in list(WAYS.items())[1:]:
            self.assertIn((f"{axes.y(low):.1f}", f"{axes.y(high):.1f}"), found)

    def test_points_stay_on_the_paper(self):
        root = self.drawn(WAYS)
        for e in root.iter(SVG + "circle"):
            self.assertTrue(0 < float(e.get("cx")) < float(root.get("width")))
            self.assertTrue(0 < float(e.get("cy")) < float(root.get("height")))

    def test_the_full_prefill_alone_is_a_plot_too(self):
        self.assertEqual(list(self.drawn({"full": WAYS["full"]}).iter(SVG + "polyline")), [])

    def test_it_is_drawn_on_white_so_that_it_can_be_read_anywhere(self):
        first = next(self.drawn(WAYS).iter(SVG + "rect"))
        self.assertEqual((first.get("width"), first.get("fill")), ("100%", "white"))

    def test_too_many_kinds_are_an_error(self):
        kinds = {f"kind{i}:1": (1, 0, 0, 0) for i in range(len(plot.COLOURS) + 1)}
        with self.assertRaisesRegex(ValueError, "kinds of ways"):
            self.drawn({"full": WAYS["full"], **kinds})

    def test_ticks_are_round_numbers_inside(self):
        self.assertEqual(plot.ticks(-21, 4), [-20, -15, -10, -5, 0])
        for low, high in ((0, 1), (-0.06, 0.06), (0, 105), (-37.2, 5.2)):
            found = plot.ticks(low, high)
            self.assertTrue(2 <= len(found) <= 7, found)
            self.assertTrue(all(low <= t <= high for t in found), found)


class Commands(unittest.TestCase):
    def run_it(self, script, *arguments):
        return subprocess.run([sys.executable, "-B", str(places.ANSWERS / script), *arguments],
                              capture_output=True, text=True)

    def test_plot_draws_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            source, svg = Path(folder) / "a.json", Path(folder) / "a.svg"
            source.write_text(json.dumps(study_of(WAYS)))
            self.assertEqual(self.run_it("plot.py", str(source), str(svg)).returncode, 0)
            self.assertEqual(svg.read_text(), plot.plot(study_of(WAYS), "f1"))
            wrong = self.run_it("plot.py", str(source), str(svg), "--metric", "em")
            self.assertEqual(wrong.returncode, 1)
            self.assertIn("no metric em; it has f1", wrong.stderr)

    def test_answers_says_what_it_takes(self):
        run = self.run_it("answers.py", "--help")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("longbench:repobench-p", run.stdout)

    def test_answers_refuses_before_it_opens_a_model(self):
        for message, arguments in (("--documents", ["--set", "counting", "--documents", "99"]),
                                   ("no set squat; there are", ["--set", "squat"]),
                                   ("--data", ["--set", "longbench:trec"])):
            run = self.run_it("answers.py", "no-model", *arguments)
            self.assertEqual(run.returncode, 1, message)
            self.assertIn(message, run.stderr)


if __name__ == "__main__":
    unittest.main()
