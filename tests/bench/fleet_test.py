"""The simulated fleet of bench/traces: what it counts, by hand, and where its requests go."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

import places

sys.path.insert(0, str(places.SOURCE / "bench/traces"))
import arrivals  # noqa: E402
import fleet  # noqa: E402
import routers  # noqa: E402

A, B = (0, 1, 2), (0, 7)


def request(at, blocks, n_tokens=None):
    return arrivals.Request(at, blocks, n_tokens or len(blocks) * arrivals.BLOCK)


def alone(n=1, store=100, **rest):
    return fleet.Setting(n, store, 1.0, **rest)


class Costs(unittest.TestCase):
    def test_a_text_costs_what_its_parts_cost(self):
        parts = arrivals.cost(0, 300) + arrivals.cost(300, 400)
        self.assertAlmostEqual(arrivals.cost(0, 700), parts)


class Stores(unittest.TestCase):
    def test_the_least_recently_used_blocks_go_the_end_of_a_request_first(self):
        node = fleet.Node(3)
        self.assertEqual(node.found(request(0, A)), 0)
        self.assertEqual(node.found(request(1, A)), 3 * 512)
        self.assertEqual(node.found(request(2, B)), 512)  # the end of A goes
        self.assertEqual(node.found(request(3, A)), 2 * 512)

    def test_the_last_block_counts_by_its_tokens(self):
        node = fleet.Node(9)
        node.found(request(0, A, 1030))
        self.assertEqual(node.found(request(1, A, 1030)), 1030)

    def test_what_is_missing_is_computed_where_it_stands(self):
        node = fleet.Node(9)
        node.found(request(0, (0, 1)))
        self.assertAlmostEqual(node.seconds(request(1, A)), arrivals.cost(1024, 512))


class Load(unittest.TestCase):
    TRACE = [request(0, A), request(1, B), request(2, (0, 1, 5)), request(9, (0, 300))]

    def test_more_nodes_get_copies_that_share_the_first_block_alone(self):
        many = arrivals.spread_over(self.TRACE, 300)
        self.assertEqual(len(many), 12)
        self.assertEqual(sorted(many, key=lambda r: r.at), many)
        self.assertEqual({r.blocks[0] for r in many}, {0})
        self.assertEqual(len({r.blocks for r in many}), 12)

    def test_fewer_nodes_get_whole_conversations(self):
        some = arrivals.spread_over(self.TRACE, 25)
        kept = {arrivals.conversation(r) for r in some}
        self.assertEqual(some, [r for r in self.TRACE if arrivals.conversation(r) in kept])
        self.assertLess(len(some), len(self.TRACE))

    def test_a_crowd_asks_for_one_text_a_while(self):
        many = [request(i, (0, 100 + i)) for i in range(1000)]
        rush = arrivals.crowd(many, 0.5, 4)
        more = [r for r in rush if len(r.blocks) == 6]
        self.assertTrue(30 < len(more) < 70)
        self.assertEqual({r.blocks[1:5] for r in more}, {(-4, -3, -2, -1)})
        self.assertTrue(all(500 <= r.at < 600 for r in more))


class Choices(unittest.TestCase):
    def view(self, loads, alive=None):
        return routers.View(loads, alive or [True] * len(loads), 64)

    def test_a_conversation_goes_where_its_beginning_is(self):
        router = routers.Beginnings(20, 1)
        first = router.choose(request(0, A), self.view([0] * 20))
        for _ in range(10):
            self.assertEqual(router.choose(request(1, A + (9,)), self.view([0] * 20)), first)

    def test_what_all_begin_with_sends_nobody_anywhere(self):
        texts = [request(i, (0, *range(100 * i + 100, 100 * i + 120))) for i in range(60)]
        for kind, least, most in ((routers.Beginnings, 30, 60), (routers.any_beginning, 1, 1)):
            router = kind(1000, 1)
            nodes = {router.choose(r, self.view([0] * 1000)) for r in texts}
            self.assertTrue(least <= len(nodes) <= most, len(nodes))

    def test_who_has_too_much_to_do_is_passed_over(self):
        router = routers.Beginnings(4, 1)
        first = router.choose(request(0, A), self.view([0] * 4))
        busy = [9 if node == first else 1 for node in range(4)]
        self.assertNotEqual(router.choose(request(1, A), self.view(busy)), first)
        unbounded = routers.Beginnings(4, 1, bounded=False)
        first = unbounded.choose(request(0, A), self.view([0] * 4))
        busy = [9 if node == first else 1 for node in range(4)]
        self.assertEqual(unbounded.choose(request(1, A), self.view(busy)), first)

    def test_a_table_is_bounded_and_counts_what_it_holds(self):
        router = routers.Beginnings(4, 1, most_digests=5)
        for i in range(20):
            router.choose(request(i, (0, 2 * i + 1, 2 * i + 2)), self.view([0] * 4))
            self.assertLessEqual(len(router.table), 5)
            self.assertEqual(router.n_held, sum(len(h) for h in router.table.values()))
        router.forget(0)
        self.assertTrue(all(0 not in holders for holders in router.table.values()))
        self.assertEqual(router.n_held, sum(len(h) for h in router.table.values()))

    def test_a_ring_moves_the_dead_node_s_alone(self):
        ring = routers.Hashing(10, 1)
        all_up = self.view([0] * 10)
        texts = [request(i, (0, i)) for i in range(1, 200)]
        before = [ring.choose(r, all_up) for r in texts]
        dead = before[0]
        after = [ring.choose(r, self.view([0] * 10, [n != dead for n in range(10)])) for r in texts]
        for one, other in zip(before, after):
            self.assertTrue(other == one or one == dead)
            self.assertNotEqual(other, dead)

    def test_nobody_chooses_the_dead(self):
        for kind in routers.WAYS.values():
            way = kind(3, 1)
            for i in range(50):
                view = self.view([0] * 3, [False, True, False])
                self.assertEqual(way.choose(request(i, (0, i)), view), 1)


class Fleets(unittest.TestCase):
    def test_one_node_by_hand(self):
        three = [request(0, A), request(0, A), request(1e6, A)]
        o = fleet.Fleet(alone(), routers.InTurn).run(three)
        self.assertAlmostEqual(o.found, 2 / 3)
        self.assertAlmostEqual(o.saved, 2 / 3)
        self.assertEqual((o.busiest, o.most_load, o.again), (1, 2, 0))
        self.assertEqual(o.waits_p50, 0)
        self.assertAlmostEqual(o.waits_p95, arrivals.cost(0, 3 * 512))

    def test_who_is_sent_home_finds_it_and_who_is_not_does_not(self):
        turns = [request(1e4 * i, (0, chat, *range(1000 * chat, 1000 * chat + i)))
                 for i in range(10) for chat in range(1, 41)]
        found = {name: fleet.Fleet(alone(40, 10**6), kind).run(turns).found
                 for name, kind in routers.WAYS.items()}
        self.assertGreater(found["hashing"], 0.7)
        self.assertGreater(found["beginnings"], 0.7)
        self.assertLess(found["random"], 0.5)

    def test_the_same_for_the_same_seed(self):
        requests = [request(i, (0, i % 7, i % 3 + 50)) for i in range(300)]
        setting = alone(5, 8, n_routers=3, loads_every_s=5)
        runs = [fleet.Fleet(setting, routers.Beginnings).run(requests) for _ in range(2)]
        self.assertEqual(*(r._replace(choice_us=0) for r in runs))

    def test_the_dead_s_requests_are_sent_again_and_none_is_lost(self):
        requests = [request(0.001 * i, (0, i + 1)) for i in range(100)]
        setting = alone(4, 100, deaths=(0.05, 0.06))
        dying = fleet.Fleet(setting, routers.Beginnings)
        outcome = dying.run(requests)
        self.assertGreater(outcome.again, 0)
        self.assertEqual(sum(dying.alive), 2)
        self.assertEqual(len(dying.waits), 100 + outcome.again)
        self.assertEqual(sum(len(w) for w in dying.waiting), sum(dying.loads))

    def test_reports_tell_a_router_that_was_told_nothing(self):
        def only_reports(n, seed):
            return routers.Beginnings(n, seed, learns=False)
        turns = [request(100 * i, (0, chat, chat + 500))
                 for i in range(10) for chat in range(1, 21)]
        told = fleet.Fleet(alone(20, 10**6, reports_every_s=10), only_reports).run(turns)
        untold = fleet.Fleet(alone(20, 10**6), only_reports).run(turns)
        self.assertGreater(told.found, untold.found + 0.2)


class Commands(unittest.TestCase):
    def test_a_table_of_a_small_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            trace, out = Path(folder) / "t.jsonl", Path(folder) / "o.json"
            lines = [{"timestamp": 10 * i, "input_length": 1024, "hash_ids": [0, i % 30]}
                     for i in range(200)]
            trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
            with contextlib.redirect_stdout(io.StringIO()) as said:
                fleet.main([str(trace), "--nodes", "100", "--json", str(out)])
                fleet.main([str(trace), "--strain", "100"])
            rows = json.loads(out.read_text())
            self.assertEqual(len(rows), len(routers.WAYS) + 1)
            self.assertIn("a node of twenty dies", said.getvalue())

    def test_no_trace_and_no_line(self):
        with self.assertRaisesRegex(SystemExit, "no trace nowhere.*bench/README.md"):
            fleet.main(["nowhere"])
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder) / "t.jsonl"
            trace.write_text("{}\n")
            with self.assertRaisesRegex(SystemExit, "t.jsonl:1 is no line"):
                fleet.main([str(trace)])


if __name__ == "__main__":
    unittest.main()
