"""A program is the same in each process, whatever its hashes and its optimisation are."""

import os
import subprocess
import sys

SOURCE = '''
from enum import Enum
from typing import FrozenSet, Literal, Set
from promptcache.program import program, say, user


class Town(Enum):
    OSLO = "oslo"
    ROME = "rome"
    BERN = "bern"
    KIEL = "kiel"


class Grade(str, Enum):
    A = "a"
    B = "b"


@program
def listed(towns: Set[Literal["oslo", "rome", "bern", "kiel", "york"]] = frozenset({"york", "oslo", "bern"})):
    """Towns. """
    for town in towns if False else ("oslo", "bern"):
        if town in towns:
            say(town, " ")


@program
def inner(towns: FrozenSet[Literal["oslo", "rome", "bern"]]):
    for town in towns:
        say(town, " ")


@program
def outer(town: Town, grade: Grade, more: FrozenSet[Town] = frozenset(Town)):
    """Said first.

    And this. """
    inner({"rome", "bern", "oslo"})
    if town == Town.OSLO and grade != Grade.B:
        say("O")
    elif town is Town.ROME or grade == "b":
        say("R")
    if Town.KIEL in more:
        say("K")


if __name__ == "__main__":
    for program, given in ((listed, [{"kiel", "rome", "oslo"}]), (outer, [Town.OSLO, Grade.A]), (outer, [Town.BERN, Grade.B])):
        call = program(*given)
        print(program.schema(), call.pml, call, program.messages(*given))
    print(listed())
'''


def said(path, *options, seed):
    env = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run([sys.executable, *options, path], env=env, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_sets_and_enums_and_docstrings(tmp_path):
    path = tmp_path / "towns.py"
    path.write_text(SOURCE, encoding="utf-8")
    first = said(path, seed=0)
    assert "listed(towns=('oslo', 'rome', 'kiel'))" in first and "oslo rome bern " in first
    assert "listed(towns=('oslo', 'bern', 'york'))" in first and "Said first.\\n\\nAnd this. " in first
    assert {said(path, seed=seed) for seed in (1, 2, 3)} == {first}
    # Without assertions and docstrings, which are read from the source.
    assert said(path, "-OO", seed=4) == first
