"""The page of scripts/bench-cuda, from made-up steps, and the model file that it measures on."""

import copy
import random
import sys
import unittest

import places

sys.path.insert(0, str(places.SOURCE / "bench"))
import cuda_report
import make_random_gguf

FACTS = {"device": "Made-up 1", "driver": "1.2", "memory_mib": "9", "cuda": "13.0", "standin": None,
         "trial": False, "shape": "7B", "cpu": "a CPU", "threads": 2, "commit": "0123", "cached": 5000,
         "new": 16, "shared": 4096, "requests": 16, "no_llama": "nobody asked", "failed": [],
         "left_out": []}
MODULE_MIB = 2048


def ttft(full, attached):
    return {"full_ms": [full] * 3, "cached_ms": [attached] * 3, "attached_ms": [attached] * 3,
            "attach_ms": [0.1] * 3}


def growth(us_per_token, begin_ms=4.0):
    return {"kv_bytes": 1 << 19, "lines": [{"points": [
        {"cached_tokens": n, "ttft_ms": [begin_ms + us_per_token * n / 1e3] * 3}
        for n in (1024, 2048, 4096)]}]}


def memory(n, peak):
    return {"requests": n, "cached_tokens": 4096, "memory_mib": {"before": 100, "peak": peak}}


def steps():
    # 2^19 bytes at 1000 GB/s are 0.524 us, at 50 GB/s 10.5 us.
    return {"bandwidth": {"device_gb_per_s": [999, 1000, 1001], "link_gb_per_s": [49, 50, 51]},
            "ttft-device": ttft(900, 100), "ttft-host": ttft(900, 290),
            "growth-device": growth(0.6), "growth-host": growth(15.0),
            "batch-device": {"ratio": [9.0], "one_by_one": [50.0], "together": [450.0],
                             "one_thread": [460.0]},
            "memory-many": memory(16, 9000), "memory-one": memory(1, 8700)}


class Page(unittest.TestCase):
    def verdicts(self, measured, **facts):
        page = cuda_report.page({**FACTS, **facts}, measured)
        rows = [line.split("|") for line in page.splitlines() if line.startswith("| G")]
        return [(cells[1].strip(), cells[4].strip(), cells[5].strip()) for cells in rows]

    def test_what_reaches_its_targets(self):
        found = self.verdicts(steps())
        self.assertEqual([(goal, judged) for goal, _, judged in found],
                         [("G1", "reached"), ("G1", "reached"), ("G2", "reached"), ("G2", "reached"),
                          ("G3", ""), ("G3", "reached")])
        self.assertEqual([measured.split(" ")[0] for _, measured, _ in found],
                         ["9.00x", "3.10x", "1.14x", "1.43x", "9.00x", "300"])
        self.assertIn(f"a copy is {MODULE_MIB} MiB", found[-1][1])

    def test_what_misses_them(self):
        measured = {**steps(), "ttft-device": ttft(900, 120), "ttft-host": ttft(900, 310),
                    "growth-device": growth(0.9), "growth-host": growth(17.0),
                    "memory-many": memory(16, 8700 + 15 * MODULE_MIB)}
        self.assertEqual([judged for _, _, judged in self.verdicts(measured)],
                         ["**missed**"] * 4 + ["", "**missed**"])

    def test_a_slope_below_any_floor_is_noise(self):
        found = self.verdicts({**steps(), "growth-device": growth(-0.5)})
        self.assertEqual(found[2][2], "not judged: noise")

    def test_what_is_missing_is_said(self):
        for goal, measured, judged in self.verdicts({}):
            self.assertEqual((measured, judged), ("not measured", ""), goal)
        without_bandwidth = {name: s for name, s in steps().items() if name != "bandwidth"}
        self.assertEqual(self.verdicts(without_bandwidth)[2][1], "not measured")
        page = cuda_report.page({**FACTS, "left_out": [16384], "failed": ["growth-host"]}, steps())
        self.assertIn("llama.cpp was not measured: nobody asked", page)
        self.assertIn("16384 tokens", page)
        self.assertIn("steps that failed: growth-host", page)

    def test_a_trial_judges_nothing(self):
        for facts in ({"trial": True}, {"trial": True, "standin": "plugin.so", "device": None}):
            self.assertEqual({judged for _, _, judged in self.verdicts(steps(), **facts)},
                             {"not judged", ""})
        page = cuda_report.page({**FACTS, **facts}, steps())
        self.assertTrue(page.startswith("# A trial through a stand-in: no figure here means anything"))
        self.assertNotIn("Made-up", page)

    def test_the_line_through_the_medians(self):
        bent = copy.deepcopy(growth(1.0))
        self.assertAlmostEqual(cuda_report.Line(bent).us_per_token, 1.0)
        self.assertAlmostEqual(cuda_report.Line(bent).departure, 0.0)
        bent["lines"][0]["points"][1]["ttft_ms"] = [9.0]
        self.assertGreater(cuda_report.Line(bent).departure, 0.1)


class RandomWeights(unittest.TestCase):
    def test_blocks_are_of_the_deviation_asked_for_around_zero(self):
        numbers, size = [], make_random_gguf.BLOCK_BYTES
        for piece in make_random_gguf.blocks(random.Random(0), 2000, 1.0):
            for at in range(0, len(piece), size):
                numbers += [n - 8 for byte in piece[at + 2:at + size] for n in (byte & 15, byte >> 4)]
        self.assertEqual((min(numbers), max(numbers)), (-7, 7))
        self.assertLess(abs(sum(numbers) / len(numbers)), 0.1)
        mean_square = sum(n * n for n in numbers) / len(numbers)
        self.assertAlmostEqual(mean_square ** 0.5 / make_random_gguf.SPREAD, 1.0, delta=0.01)


if __name__ == "__main__":
    unittest.main()
