"""Which replica is chosen: the best one that is not busier than its share, whatever is drawn."""

import random

from hypothesis import given
from hypothesis import strategies as st

from promptcache.ray.choose import SLACK, SPREAD, Replica, choose, ranks, that_count

REPLICAS = st.lists(
    st.builds(Replica, st.integers(0, 5), st.integers(0, 12), st.integers(0, 10)), max_size=9
)
SEEDS = st.integers(0, 2**32)


def is_open(replica):
    return replica.load < replica.capacity


def bound(replicas):
    return SPREAD * sum(replica.load for replica in replicas) / len(replicas) + SLACK


@given(REPLICAS, SEEDS)
def test_ranks_have_each_open_replica_once(replicas, seed):
    found = list(ranks(replicas, random.Random(seed)))
    assert all(1 <= len(rank) <= 2 for rank in found)
    assert sorted(index for rank in found for index in rank) == [
        index for index, replica in enumerate(replicas) if is_open(replica)
    ]


@given(REPLICAS, SEEDS)
def test_nobody_within_the_bound_has_a_longer_beginning(replicas, seed):
    chosen = choose(replicas, random.Random(seed))
    if chosen is None:
        assert not any(map(is_open, replicas))
        return
    within = [r for r in replicas if is_open(r) and r.load < bound(replicas)]
    if within:
        assert replicas[chosen].load < bound(replicas)
        assert replicas[chosen].has == max(r.has for r in within)


@given(REPLICAS, SEEDS)
def test_of_a_rank_the_less_busy_one_comes_first(replicas, seed):
    for rank in ranks(replicas, random.Random(seed)):
        loads = [replicas[index].load for index in rank]
        assert loads == sorted(loads)


@given(REPLICAS, SEEDS)
def test_the_same_draws_choose_the_same(replicas, seed):
    first = choose(replicas, random.Random(seed))
    assert first == choose(replicas, random.Random(seed))


def test_the_best_is_passed_over_where_it_is_full_or_far_ahead():
    draw = random.Random(1)
    full = [Replica(9, 4, 4), Replica(5, 3, 4), Replica(0, 2, 4)]
    assert choose(full, draw) == 1
    ahead = [Replica(9, 6, 64), Replica(5, 1, 64), Replica(0, 0, 64)]
    assert choose(ahead, draw) == 1


def test_with_no_beginning_anywhere_two_choices_keep_loads_together():
    """Of n balls in n bins the fullest has about log n / log log n with one choice, and
    log log n with two: 1000 replicas, 8 requests each, none of which ends."""
    draw = random.Random(7)
    loads = [0] * 1000
    for _ in range(8 * len(loads)):
        chosen = choose([Replica(0, load, 64) for load in loads], draw, spread=64.0)
        loads[chosen] += 1
    assert max(loads) <= 12


def test_all_of_equals_are_drawn():
    replicas = [Replica(3, 0, 4), Replica(3, 0, 4), Replica(3, 0, 4), Replica(0, 0, 4)]
    drawn = {choose(replicas, random.Random(seed)) for seed in range(100)}
    assert drawn == {0, 1, 2}


def test_what_all_share_draws_nobody():
    assert that_count({"a": 99, "b": 100, "c": 1000}, 1000) == {"b": 100, "c": 1000}
    assert that_count({}, 0) == {}
