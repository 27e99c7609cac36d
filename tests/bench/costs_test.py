"""bench/cost and bench/small: what counters wrote, costs as differences, and their tables."""

import sys
import unittest

import places

sys.path[:0] = [str(places.SOURCE / "bench" / folder) for folder in ("", "cost", "small", "peers")]
import costs
import costs_table
import counters
import group
import small
import small_table

CALLGRIND = """version: 1
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
fn=(1) main
1 10 2 3 0 0 0 0 0 0
totals: 1000 200 100 9 8 7 3 4 5
"""
PERF = """123456,,instructions:u,1000,100.00,,
<not supported>,,cache-misses:u,0,100.00,,
"""


class Counters(unittest.TestCase):
    def test_callgrinds_totals(self):
        found = counters.from_callgrind(counters.callgrind_totals(CALLGRIND))
        self.assertEqual(found, {"instructions": 1000, "bytes": 64 * (3 + 4 + 5)})

    def test_without_its_caches_there_are_no_bytes(self):
        found = counters.from_callgrind(counters.callgrind_totals("events: Ir\nsummary: 7\n"))
        self.assertEqual(found, {"instructions": 7, "bytes": None})

    def test_a_file_without_totals_is_an_error(self):
        with self.assertRaisesRegex(counters.Error, "no totals"):
            counters.callgrind_totals("events: Ir\n")

    def test_what_perf_does_not_count_is_missing(self):
        self.assertEqual(counters.perf_values(PERF), {"instructions:u": 123456})


class Costs(unittest.TestCase):
    def test_a_step_is_what_two_runs_differ_by(self):
        more, fewer = {"instructions": 900, "bytes": 640}, {"instructions": 100, "bytes": 320}
        self.assertEqual(costs.less(more, fewer, 8), {"instructions": 100, "bytes": 40})
        self.assertEqual(costs.plus(more, fewer), {"instructions": 1000, "bytes": 960})

    def test_what_was_not_counted_stays_so(self):
        more, fewer = {"instructions": 9, "bytes": None}, {"instructions": 1, "bytes": None}
        self.assertEqual(costs.less(more, fewer), {"instructions": 8, "bytes": None})

    def test_the_peers_way_with_fewer_instructions_counts(self):
        engines = {"promptcache": {"decode": {"instructions": 50e6, "bytes": 1e8}},
                   "llama.cpp": {"decode": {"instructions": 200e6, "bytes": 3e8}},
                   "llama.cpp, flash attention": {"decode": {"instructions": 100e6, "bytes": 1e8}}}
        found = costs_table.row(engines, "decode", {"depth": 128, "new": 16})
        self.assertEqual(found, "| a decoded token behind 128 | 50 M | 100 MB | 100 M (llama.cpp, flash attention) | "
                                "100 MB | **2.00×** | **1.00×** |")

    def test_ours_alone(self):
        engines = {"promptcache": {"prefill": {"instructions": 5e6, "bytes": None}}}
        self.assertEqual(costs_table.row(engines, "prefill", {"depth": 1, "new": 1}),
                         "| a token of a prompt | 5 M | not counted |  |  |  |  |")


class Small(unittest.TestCase):
    def test_groups_of_both_versions(self):
        found = group.own_groups("9:name=systemd:/\n4:memory:/a/b\n2:cpu,cpuacct:/c\n0::/d:e\n")
        self.assertEqual((found["memory"], found["cpuacct"], found[""]), ("/a/b", "/c", "/d:e"))

    def test_a_groups_statistics(self):
        self.assertEqual(group.stat_of("rss 12\ncache 5\n\n"), {"rss": 12, "cache": 5})

    def test_two_clients_wait_for_the_slower_and_decode_together(self):
        answers = [{"s": 1.0, "cached": 0, "computed": 9, "predicted": 11, "predicted_ms": 1000},
                   {"s": 2.0, "cached": 4, "computed": 7, "predicted": 11, "predicted_ms": 500}]
        found = small.served(answers)
        self.assertEqual(found, {"first_s": 2.0, "tokens_per_s": 30.0, "cached": 0, "computed": 9})

    def test_how_a_program_ended(self):
        self.assertEqual(small.ended(1, "a\nno room\n\n"), "exit code 1: no room")
        self.assertEqual(small.ended(-9, ""), "ended by SIGKILL, no word")

    def test_rows_say_what_died_without_an_error(self):
        step = {"engine": "e", "step": "s", "works": False, "said": "ended by SIGKILL, no word", "killed": 1,
                "anonymous": 2 << 20, "files": 0, "peak": None}
        self.assertEqual(small_table.row(step), "| e | s | **ended by the kernel**: ended by SIGKILL, no word |  |  | "
                                                "2 MiB | 0 MiB |  |")
        self.assertIn("| no: said |", small_table.row({**step, "killed": 0, "said": "said"}))


if __name__ == "__main__":
    unittest.main()
