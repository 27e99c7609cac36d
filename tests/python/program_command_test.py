"""python -m promptcache compile FILE:NAME"""

import os
import pathlib
import subprocess
import sys

import pytest

import promptcache

PACKAGES = str(pathlib.Path(promptcache.__file__).resolve().parents[1])

SOURCE = """\
from promptcache.program import program, say
from beside import WORDS


@program
def greeting(flag: bool):
    say(WORDS)
    if flag:
        say("<Yes>")


@program
def wrong(text: str):
    say(text.upper())


ordinary = 3
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "beside.py").write_text('WORDS = "Hello. "\n')
    (tmp_path / "greetings.py").write_text(SOURCE)

    def run(*arguments):
        command = [sys.executable, "-m", "promptcache", *arguments]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": PACKAGES},
        )

    return run


def test_the_schema_is_printed(run):
    done = run("compile", "greetings.py:greeting")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout == (
        '<schema name="greeting">\n'
        "  <module>Hello. </module>\n"
        '  <module name="flag">&lt;Yes></module>\n'
        "</schema>\n"
    )


def test_a_program_that_cannot_be_compiled_is_shown_with_its_place(run):
    done = run("compile", "greetings.py:wrong")
    assert done.returncode == 1 and done.stdout == ""
    assert 'greetings.py", line 14\n    say(text.upper())\n' in done.stderr
    assert "ProgramError: this is computed from what comes with a prompt" in done.stderr


@pytest.mark.parametrize(
    "argument, status, said",
    [
        (
            "greetings.py:greting",
            1,
            "greetings.py has no program 'greting'; there are: greeting, wrong",
        ),
        ("greetings.py:ordinary", 1, "has no program 'ordinary'"),
        ("nowhere.py:greeting", 1, "promptcache: nowhere.py is no file"),
        ("greetings.py", 2, "'greetings.py' is not FILE:NAME"),
    ],
)
def test_what_is_not_there(run, argument, status, said):
    done = run("compile", argument)
    assert done.returncode == status and said in done.stderr and done.stdout == ""


def test_without_a_command(run):
    done = run()
    assert done.returncode == 2 and "COMMAND" in done.stderr
    assert "compile" in run("--help").stdout
