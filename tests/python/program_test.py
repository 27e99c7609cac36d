"""Programs: what their schemas and prompts look like, and what they are given and give."""

import enum
import inspect
import os
import pathlib
import subprocess
import sys
import textwrap
from typing import Annotated, FrozenSet, Literal, Optional

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import promptcache
from promptcache.program import Len, ProgramError, assistant, doc, module, program, say, system, user
from promptcache.program.names import pml_name

ODD = ["été", "東京", "x²", "😀", "-a", "3", "a:b", "ǅ", "𝒳", "user", "x" * 300, "other", ""]
HERE = pathlib.Path(__file__).parent
PACKAGES = str(pathlib.Path(promptcache.__file__).resolve().parents[1])
CITIES = {"oslo": "Oslo has fjords. ", "rome": "Rome has ruins. "}


class Kind(enum.Enum):
    FORMAL = 1
    FRIENDLY = 2


def pml(text):
    return textwrap.dedent(text).lstrip("\n")


def with_if():
    @program
    def trip(place: Literal["oslo", "rome"], breakfast: bool):
        say("A trip.")
        if breakfast:
            say("With breakfast.")
        if place == "oslo":
            say("To Oslo.")
        else:
            say("To Rome.")

    return trip


def with_match():
    if sys.version_info < (3, 10):
        pytest.skip("match came with Python 3.10")
    import program_match_sample

    return program_match_sample.trip


@pytest.mark.parametrize("written", [with_if, with_match])
def test_an_if_is_a_module_and_a_choice_a_union(written):
    trip = written()
    assert trip.schema() == pml(
        """
        <schema name="trip">
          <module>A trip.</module>
          <module name="breakfast">With breakfast.</module>
          <union>
            <module name="oslo">To Oslo.</module>
            <module name="rome">To Rome.</module>
          </union>
        </schema>
        """
    )
    assert trip("rome", True).pml == '<prompt schema="trip">\n  <breakfast/>\n  <rome/>\n</prompt>\n'
    assert trip("oslo", False).modules == ["oslo"]


def test_names_are_the_sources():
    @program
    def names(
        size: Literal[1, 2, None],
        flag: bool,
        kind: Kind,
        text: Optional[str],
        some: FrozenSet[Literal["a b"]],
    ):
        if size == 1:
            say("1")
        elif size is None:
            say("2")
        else:
            say("3")
        if flag:
            say("4")
        else:
            say("5")
        say("6" if kind is Kind.FORMAL else "7")
        if text is not None:
            say("8")
        if "a b" in some:
            say("9")
        if not flag and text:
            say("10")
        if flag:
            say("11")
        with module("union"):
            say("12")

    found = [line.split('"')[1] for line in names.schema().splitlines() if "module name" in line]
    assert found == [
        *("size-1", "no-size", "size-2", "flag", "no-flag", "FORMAL", "FRIENDLY", "text", "a-b"),
        *("no-flag-and-text", "flag-2", "union_"),
    ]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=20) | st.sampled_from(ODD))
def test_any_choice_makes_a_name(engine, choice):
    @program
    def named(one: Literal[(choice, "other")]):
        if one == choice:
            say("x")
        else:
            say("y")

    said = engine.detokenize(named.bind(engine)(choice).token_ids)
    assert said == "<s>x"
    assert pml_name(pml_name(choice)) == pml_name(choice)


def test_names_of_many_scripts():
    assert [pml_name(n) for n in ("été 2", "東京", "x²", "a:b", "3", "user", "", "?!", "a..")] == [
        *("été-2", "東京", "x", "a-b", "_3", "user_", "", "", "a"),
    ]


def test_names_beside_each_other_are_counted():
    @program
    def named():
        for name in ("a", "a-2", "a", "a", "a-2"):
            with module(name):
                say("x")

    assert named().modules == ["a", "a-2", "a-3", "a-4", "a-2-2"]


def test_a_called_program_is_a_nested_module(engine):
    @program(cache=False, repair="none")
    def greet(who: Annotated[str, Len(6)], formal: bool = False):
        """Greetings."""
        say(" Dear " if formal else " Hi ", who)

    @program
    def letter(name: str, size: Annotated[str, Len(9)]):
        greet(name)
        greet("Mrs " + size, formal=True)
        greet(who="you")

    assert letter.schema() == pml(
        """
        <schema name="letter">
          <module name="greet" cache="false" repair="none">Greetings. Hi <param name="who" len="6"/></module>
          <module name="greet-2" cache="false" repair="none">Greetings. Dear <param name="who" len="6"/></module>
          <module name="greet-3" cache="false" repair="none">Greetings. Hi you</module>
        </schema>
        """
    )
    call = letter("Ann", "X")
    assert '<greet who="Ann"/>\n  <greet-2 who="Mrs X"/>\n  <greet-3/>' in call.pml
    assert engine.detokenize(letter.bind(engine)("Ann", "X").token_ids) == (
        "<s>Greetings. Hi AnnGreetings. Dear Mrs XGreetings. Hi you"
    )


def test_a_text_without_a_length_is_the_prompts_own(engine):
    @program
    def asked(question: str):
        say("Before. ")
        say(question)
        say(" Behind.")

    assert '<module name="question"/>' in asked.schema()
    prompt = asked.bind(engine)("  What\n<now>? ")
    assert engine.detokenize(prompt.token_ids) == "<s>Before.   What\n<now>?  Behind."
    assert [run["text"] for run in prompt.explain()["runs"] if run["kind"] == "text"] == [
        "  What\n<now>? "
    ]
    assert asked.bind(engine)("").counts.modules == 1


def test_parameters_in_text_of_no_module_make_one():
    @program(lengths={"days": 8})
    def stay(days: str, when: Annotated[str, Len(3, scaffold="May")]):
        say(f"For {days}, ", f"not {days}. ")
        say(when)

    assert stay.schema() == pml(
        """
        <schema name="stay">
          <module name="days">For <param name="days" len="8"/>, not <param name="days-2" len="8"/>. </module>
          <module name="when"><param name="when" len="3" scaffold="May"/></module>
        </schema>
        """
    )
    assert (
        '<days days="a &lt; &quot;b&quot;" days-2="a &lt; &quot;b&quot;"/>' in stay('a < "b"', "").pml
    )


def test_loops_lookups_and_formats_of_constants():
    @program
    def listed(city: Literal["oslo", "rome"]):
        for number, (name, text) in enumerate(CITIES.items(), 1):
            say(f"{number:02d} {name.title()!r}: {text.strip()}\n")
        say(
            textwrap.dedent("""\
            Choose:
              one"""),
            "-" * 3,
            f" {city.upper()} ",
            CITIES[city],
        )

    assert "01 'Oslo': Oslo has fjords.\n02 'Rome': Rome has ruins.\n</module>" in listed.schema()
    assert '<module name="rome">Choose:\n  one--- ROME Rome has ruins. </module>' in listed.schema()
    said = listed.messages("rome")
    assert said == [
        {
            "role": None,
            "content": "01 'Oslo': Oslo has fjords.\n02 'Rome': Rome has ruins.\nChoose:\n  one--- ROME Rome has ruins. ",
        }
    ]


def test_names_set_in_branches_are_what_the_branch_gave_them(engine):
    @program
    def said(flag: bool, kind: Kind, name: str):
        if flag:
            text = "Yes"
        else:
            text = "No"
        if kind is Kind.FORMAL:
            text += ", " + name
        say(text)

    for flag in (True, False):
        for kind in Kind:
            whole = said.messages(flag, kind, "Sir")[0]["content"]
            assert engine.detokenize(said.bind(engine)(flag, kind, "Sir").token_ids) == "<s>" + whole


def test_a_sentence_is_not_cut_where_its_choice_stands():
    @program
    def to(place: Literal["oslo", "rome"], flag: bool, days: Annotated[str, Len(4)]):
        say(f"To {place.title()}.")
        say(f"{days} in {place}{'!' if flag else '.'}")

    assert to.schema() == pml(
        """
        <schema name="to">
          <union>
            <module name="oslo">To Oslo.</module>
            <module name="rome">To Rome.</module>
          </union>
          <module name="days">
            <module><param name="days" len="4"/> in </module>
            <union>
              <module name="oslo">oslo</module>
              <module name="rome">rome</module>
            </union>
            <union>
              <module name="flag">!</module>
              <module name="no-flag">.</module>
            </union>
          </module>
        </schema>
        """
    )


def test_texts_are_looked_into_when_the_prompt_is_made():
    @program
    def looked(question: str, city: Literal["oslo", "rome"]):
        if "fjord" in question:
            say("Norway. ")
        if city in "oslo, bern":
            say("North. ")
        say(question)

    assert looked("a fjord", "oslo").modules == ["fjord", "oslo", "question"]
    assert looked("a fort", "rome").modules == ["question"]


def test_sentences_that_are_added_are_decided_by_themselves(engine):
    @program
    def listed(first: bool, second: bool, third: bool, name: Annotated[str, Len(4)]):
        text = f"All: {name}"
        if first:
            text += "; first"
        if second:
            text += "; second"
        else:
            text += "; not"
        if third and not second:
            text += "; third"
        say(text + ".")

    assert listed.schema() == pml(
        """
        <schema name="listed">
          <module name="name">
            <module>All: <param name="name" len="4"/></module>
            <module name="first">; first</module>
            <union>
              <module name="second">; second</module>
              <module name="no-second">; not</module>
            </union>
            <module name="third-and-no-second">; third</module>
            <module>.</module>
          </module>
        </schema>
        """
    )
    said = engine.detokenize(listed.bind(engine)(True, False, True, "x").token_ids)
    assert said == "<s>All: x; first; not; third."


def test_turns_and_options_of_the_schema(engine):
    @program(name="ask me!", attend="self", positions="compact", repair="leading:4")
    def asked(question: str, helpful: bool):
        with system():
            say("Be kind.")
            if helpful:
                say(" Be helpful.")
        with user(), module("all", repair="none"):
            say(question)

    assert asked.schema() == pml(
        """
        <schema name="ask-me" attend="self" positions="compact" repair="leading:4">
          <system>
            <module>Be kind.</module>
            <module name="helpful"> Be helpful.</module>
          </system>
          <user>
            <module name="all" repair="none">
              <module name="question"/>
            </module>
          </user>
        </schema>
        """
    )
    prompt = asked.bind(engine)("Why?", True)
    assert engine.detokenize(prompt.token_ids) == (
        "<s><|system|>Be kind. Be helpful.<|end|><|user|>Why?<|end|><|assistant|>"
    )
    assert asked.messages("Why?", True) == [
        {"role": "system", "content": "Be kind. Be helpful."},
        {"role": "user", "content": "Why?"},
    ]


def test_what_another_prompt_has_encoded_is_used_again(engine):
    @program
    def guide(city: Literal["oslo", "rome"], question: str):
        with system():
            say("You know cities.")
        with user():
            say(CITIES[city])
            say(question)

    bound = guide.bind(engine)
    bound("oslo", "What is there?").encode()
    assert bound("oslo", "And why?").counts.modules_missing == 0
    assert bound("rome", "And why?").counts.modules_missing == 1
    assert isinstance(bound("oslo", "Where?").generate(max_tokens=2, temperature=0), str)


FILES = """
from typing import Literal
from promptcache.program import doc, module, program, say

@program
def {name}(city: Literal["oslo", "rome"] = "oslo"):
    doc("texts/rules.txt")
    doc(f"texts/{{city}}.txt")
    with module("all"):
        doc("texts/rules.txt")
        say("End.")
    {more}
"""


def load(path, source):
    space = {"__name__": path.stem, "__file__": str(path)}
    path.write_text(source, encoding="utf-8")
    exec(compile(source, str(path), "exec"), space)
    return space


def test_files(engine, tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "rules.txt").write_bytes(b"\xef\xbb\xbfRules: a < b & c.\r\n")
    (texts / "oslo.txt").write_text(" Oslo.\n")
    (texts / "rome.txt").write_text("Rome.")
    made = load(tmp_path / "files.py", FILES.format(name="files", more=""))["files"]
    assert made.schema() == pml(
        """
        <schema name="files">
          <module src="texts/rules.txt"/>
          <union>
            <module name="oslo" src="texts/oslo.txt"/>
            <module name="rome" src="texts/rome.txt"/>
          </union>
          <module name="all" src="texts/rules.txt">End.</module>
        </schema>
        """
    )
    bound = made.bind(engine)
    for city in ("oslo", "rome"):
        assert engine.detokenize(bound(city).token_ids) == "<s>" + made.messages(city)[0]["content"]


def test_files_of_a_program_in_another_folder(engine, tmp_path):
    inner = tmp_path / "inner"
    (inner / "texts").mkdir(parents=True)
    for name in ("rules", "oslo", "rome"):
        (inner / "texts" / f"{name}.txt").write_text(name)
    called = load(inner / "called.py", FILES.format(name="called", more=""))["called"]
    outer = "from promptcache.program import program, say\n\n@program\ndef outer():\n    called()\n"
    space = load(tmp_path / "outer.py", outer)
    space["outer"].definition.function.__globals__["called"] = called
    assert (
        '<module name="called" src="inner/texts/rules.txt">\n    <module src="inner/texts/oslo.txt"/>'
        in space["outer"].schema()
    )
    assert engine.detokenize(space["outer"].bind(engine)().token_ids) == "<s>rulesoslorulesEnd."
    assert space["outer"].messages()[0]["content"] == "rulesoslorulesEnd."
    (tmp_path / "beside").mkdir()
    beside = load(tmp_path / "beside" / "beside.py", outer)
    beside["outer"].definition.function.__globals__["called"] = called
    with pytest.raises(
        ProgramError, match="the folder of the program that calls this one; called from"
    ):
        beside["outer"].schema()


def test_schemas_are_the_same_in_every_process():
    script = (
        f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
        "import program_test_sample as sample\nprint(sample.trip.schema(), sample.trip('rome', {'b', 'a'}).pml)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONPATH": PACKAGES, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(found) == 1 and '<module name="b">' in found.pop()


def test_strings_as_annotations():
    import program_test_sample as sample

    assert inspect.signature(sample.trip).parameters["city"].annotation == "Literal['oslo', 'rome']"
    assert 'len="8" scaffold="May"' in sample.annotated.schema()


def test_programs_are_read_by_inspect_and_notebooks():
    @program
    def shown(city: Literal["oslo", "rome"]):
        """Shown."""

    assert list(inspect.signature(shown).parameters) == ["city"]
    assert shown.__doc__ == "Shown." and shown.__name__ == "shown"
    assert repr(shown) == "<promptcache.program.Program 'shown'>"
    assert repr(shown("oslo")) == "shown(city='oslo')"
    assert shown.schema() == '<schema name="shown">\n  <module>Shown.</module>\n</schema>\n'


def test_a_run_is_its_own():
    @program
    def inner(what: str):
        say(what)

    @program
    def outer():
        say("a")
        inner("b")

    assert outer.messages() == [{"role": None, "content": "ab"}]
    with pytest.raises(RuntimeError):
        say("x")


def test_a_program_without_text(engine):
    @program
    def nothing(flag: bool):
        if flag:
            pass

    assert nothing.schema() == '<schema name="nothing"/>\n'
    assert nothing(True).pml == '<prompt schema="nothing"/>\n'
    assert nothing.messages(True) == []
    assert isinstance(nothing.bind(engine)(True), promptcache.Prompt)


def test_turns_of_the_model(engine):
    @program
    def shots(question: str):
        for asked, said in (("1+1", "2"), ("2+2", "4")):
            with user():
                say(asked)
            with assistant():
                say(said)
        with user():
            say(question)

    prompt = shots.bind(engine)("3+3")
    assert engine.detokenize(prompt.token_ids) == engine.render_chat(shots.messages("3+3"))


def test_words_may_have_other_names(engine):
    import promptcache.program as words

    add = say

    @words.program
    def named(flag: bool):
        with words.user():
            add("a")
            words.say("b" if flag else "")

    assert named.messages(True) == [{"role": "user", "content": "ab"}]
    assert engine.detokenize(named.bind(engine)(True).token_ids).startswith("<s><|user|>ab")


def test_doc_is_in_programs():
    with pytest.raises(RuntimeError, match=r"doc\(\) stands in a program"):
        doc("x")
