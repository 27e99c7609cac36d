"""Modules between the stores of two nodes: fetched where that is quicker, and never instead of an answer."""

import concurrent.futures
import pathlib
import time

import pytest

from ray_support import SLOW, Single, fleet, model_in

OUTCOMES = ("fetched", "computed", "late", "failed")
CITY = "You are a guide to the city of Innsbruck. You know each tram by its number. " * 24


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return model_in(tmp_path_factory.mktemp("slow"), **SLOW)


@pytest.fixture(scope="module")
def two(tmp_path_factory, model):
    with fleet(tmp_path_factory.mktemp("fleet"), 2, model=model) as started:
        yield started


@pytest.fixture(scope="module")
def single(tmp_path_factory, model):
    one = Single(tmp_path_factory.mktemp("single"), model)
    yield one
    one.close()


def asked(place, question):
    return [{"role": "system", "content": f"{place}: {CITY}"}, {"role": "user", "content": question}]


def outcomes(server):
    return {n: server.metric("promptcache_fleet_exchange_total", outcome=n) for n in OUTCOMES}


def at_once(server, place, n, **fields):
    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        return list(pool.map(lambda i: server.chat(asked(place, f"Then {i}?"), **fields), range(n)))


def texts(answers):
    return [answer["choices"][0]["message"]["content"] for answer in answers]


def computed(answers):
    return [answer["prompt_cache"]["tokens"]["computed"] for answer in answers]


def in_vain(server, answers, tokens):
    """How many more of them computed so much than fetches came too late, or not: on a busy machine some do."""
    told = outcomes(server)
    return sum(n > tokens for n in computed(answers)) - told["late"] - told["computed"]


def test_what_the_other_store_has_is_fetched(two, single):
    """More at once than one replica's share: the other one gets the rest, and fetches their
    beginning, unless the machine is so busy that computing is quicker."""
    for place in "ABCD":
        two.chat(asked(place, "First?"))
        answers = at_once(two, place, 6, max_tokens=32)
        assert texts(answers) == texts(at_once(single, place, 6, max_tokens=32))
        if outcomes(two)["fetched"]:
            break
    assert outcomes(two)["fetched"] >= 1, outcomes(two)
    assert outcomes(two)["failed"] == 0
    assert in_vain(two, answers, 100) <= 0, computed(answers)
    stores = [list(pathlib.Path(two.options.directory, f"node{i}").rglob("*.module")) for i in (0, 1)]
    assert all(stores)


def test_modules_of_a_schema_are_found_by_their_keys(two, single):
    """Encoded where the schema was posted; nobody answered a prompt with it, so that the directory
    alone, which lists the stores' files, can say who has the module."""
    schema = f'<schema name="innsbruck"><module name="trams">{CITY}</module></schema>'
    for server in (two, single):
        server.json("/pml/schemas", {"schema": schema})
    prompt = '<prompt schema="innsbruck"><trams/>Question {}?</prompt>'
    before = outcomes(two)
    for i in range(0, 80, 8):
        time.sleep(6)  # three looks of an agent at its store, or fewer of a busy one
        bodies = [{"temperature": 0, "max_tokens": 32, "prompt": prompt.format(k)} for k in range(i, i + 8)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda body: two.json("/pml/run", body), bodies))
        assert texts(answers) == texts([single.json("/pml/run", body) for body in bodies])
        if outcomes(two)["fetched"] > before["fetched"]:
            break
    assert outcomes(two)["fetched"] > before["fetched"], outcomes(two)
    assert in_vain(two, answers, 200) <= 0, computed(answers)
