"""The plot of replacement policies, and the command around it."""

import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

import places

SCRIPT = places.SOURCE / "bench/traces/savings_plot.py"
SPEC = importlib.util.spec_from_file_location("savings_plot", SCRIPT)
plot = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(plot)
SVG = "{http://www.w3.org/2000/svg}"


def runs(*rows):
    return {"runs": [{"policy": p, "budget_percent": b, "full_s": 200.0, "computed_s": c}
                     for p, b, c in rows]}


STUDY = runs(("lru", 10.0, 150.0), ("lru", 1.0, 190.0), ("worth", 1.0, 180.0),
             ("worth", 10.0, 120.0), ("nobody's", 1.0, 0.0))


class Plot(unittest.TestCase):
    def test_a_line_goes_by_budgets_and_says_what_is_saved(self):
        self.assertEqual(plot.curves(STUDY),
                         {"lru": [(1, 5), (10, 25)], "worth": [(1, 10), (10, 40)]})

    def test_up_is_better_and_right_is_more(self):
        axes = plot.Axes(plot.curves(STUDY), 50)
        self.assertEqual(axes.most, 40)
        self.assertEqual((axes.x(1), axes.x(10)), (50, 50 + plot.WIDTH))
        self.assertAlmostEqual(axes.x(10 ** 0.5), 50 + plot.WIDTH / 2)
        self.assertEqual((axes.y(0), axes.y(40)), (plot.TOP + plot.HEIGHT, plot.TOP))

    def test_a_panel_for_each_study_side_by_side_on_the_paper(self):
        root = ElementTree.fromstring(plot.plot({"a & b": STUDY, "c": STUDY}))
        lines = [e.get("points").split() for e in root.iter(SVG + "polyline")]
        drawn = [line for line in lines if line]
        self.assertEqual([len(line) for line in drawn], [2, 2, 2, 2])
        for line in drawn:
            for point in line:
                x, y = map(float, point.split(","))
                self.assertTrue(0 < x < float(root.get("width")))
                self.assertTrue(0 < y < float(root.get("height")))
        words = [e.text for e in root.iter(SVG + "text")]
        self.assertTrue({"a & b", "c", "lru", "worth"} <= set(words))

    def test_one_budget_is_a_plot_too_and_no_policy_is_none(self):
        self.assertIn("<polyline", plot.plot({"a": runs(("lru", 5.0, 100.0))}))
        with self.assertRaisesRegex(ValueError, "no run of a policy"):
            plot.plot({"a": runs(("nobody's", 5.0, 100.0))})

    def test_the_command_draws_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            source, svg = Path(folder) / "a.json", Path(folder) / "a.svg"
            source.write_text(json.dumps(STUDY))
            command = [sys.executable, "-B", str(SCRIPT), str(svg)]
            self.assertNotEqual(subprocess.run(command, capture_output=True).returncode, 0)
            self.assertEqual(subprocess.run([*command, f"x={source}"]).returncode, 0)
            self.assertEqual(svg.read_text(), plot.plot({"x": STUDY}))


if __name__ == "__main__":
    unittest.main()
