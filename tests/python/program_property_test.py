"""For random programs and arguments: what is compiled says what Python runs."""

import importlib.util
import itertools
import re

from hypothesis import HealthCheck, Phase, given, reject, settings

from promptcache.program import ProgramError

import program_sources as sources

_numbers = itertools.count()
# Each file is imported once; a drawn program is short, and to find a shorter one takes minutes.
_settings = settings(
    max_examples=100,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def imported(folder, source):
    name = f"drawn_program_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def as_written(messages):
    """The demo model's template."""
    text = "<s>"
    for message in messages:
        role, content = message["role"], message["content"]
        text += content if role is None else f"<|{role}|>{content}<|end|>"
    return text + ("<|assistant|>" if messages and messages[-1]["role"] == "user" else "")


def check(engine, tmp_path, source, calls):
    drawn = imported(tmp_path, source)
    try:
        schema = drawn.subject.load(engine)
    except ProgramError as error:  # loops that set a text anew in each branch
        assert "put together in too many ways" in error.msg
        reject()
    for given_arguments in calls:
        arguments = {**given_arguments, "mood": drawn.Mood[given_arguments["mood"]]}
        call = drawn.subject(**arguments)
        prompt = schema.prompt(call.pml)
        assert engine.detokenize(prompt.token_ids) == as_written(drawn.subject.messages(**arguments))
        assert not [r for r in prompt.remarks if "stands before" in r]


@_settings
@given(
    source=sources.program_files(), calls=sources.st.lists(sources.arguments, min_size=1, max_size=5)
)
def test_the_flat_text_is_what_the_function_says(engine, tmp_path, source, calls):
    check(engine, tmp_path, source, calls)


@_settings
@given(
    source=sources.program_files(turns=True),
    calls=sources.st.lists(sources.arguments, min_size=1, max_size=5),
)
def test_so_it_is_with_turns(engine, tmp_path, source, calls):
    check(engine, tmp_path, source, calls)


@_settings
@given(source=sources.marked_files(), calls=sources.st.lists(sources.arguments, min_size=1, max_size=5))
def test_the_modules_are_those_of_the_branches_taken(tmp_path, source, calls):
    drawn = imported(tmp_path, source)
    for given_arguments in calls:
        arguments = {**given_arguments, "mood": drawn.Mood[given_arguments["mood"]]}
        run = "".join(message["content"] for message in drawn.subject.messages(**arguments))
        names = [path.split("/")[-1] for path in drawn.subject(**arguments).modules]
        # In a loop a name comes again, as taken7-2.
        taken = [name.split("-")[0] for name in names if name.startswith("taken")]
        assert taken == re.findall(r"<(taken\d+)>", run)
