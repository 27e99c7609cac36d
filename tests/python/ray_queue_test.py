"""A queue that is full, and one that grows: clients are told to come again, and replicas are added."""

import concurrent.futures
import json

import pytest

from ray_failing_test import load
from ray_support import SLOW, fleet, model_in, wait_until


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return model_in(tmp_path_factory.mktemp("slow"), **SLOW)


def test_more_than_the_queue_holds_are_told_to_come_again(tmp_path, model):
    """Six at a replica, one on its way to it: of 20 at once some are refused, the others answered."""
    with fleet(tmp_path, 1, model=model, queue=1) as one:
        body = {"temperature": 0, "max_tokens": 600, "logit_bias": {"257": -100},
                "messages": [{"role": "user", "content": "Hm?"}]}  # fmt: skip
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda _: one.ask("POST", "/v1/chat/completions", body), range(20)))
        refused = [answer for answer in answers if answer[0] == 429]
        assert refused and {answer[0] for answer in answers} == {200, 429}
        for _, headers, data in refused:
            assert headers["retry-after"] == "1"
            assert json.loads(data)["error"]["type"] == "rate_limit_error"


def test_replicas_are_added_under_load(tmp_path, model):
    with fleet(tmp_path, 2, model=model, replicas=1, max_replicas=2) as one:
        assert one.metric("promptcache_fleet_replicas") == 1
        with load(one, 12) as clients:
            wait_until(lambda: one.metric("promptcache_fleet_replicas") == 2, "a second replica")
            clients.wait_for(20)
        assert clients.failures == []
