"""What cannot be compiled is refused with its place in the Python source and what to write instead."""

import importlib.util
import re
import sys
import textwrap

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from promptcache.program import ProgramError

HEAD = """\
import enum, os
from typing import *
from promptcache.program import *

class Mood(enum.Enum):
    GLAD = "glad"
    SAD = "sad"

City = Literal["oslo", "rome"]
TEXTS = {"oslo": "Oslo."}
NAMES = {"b", "a"}
OBJECTS = [object()]

def shout(text):
    return text.upper()

@program
def greet(who: Annotated[str, Len(8)], city: City = "oslo"):
    say(who)

@program
def turned():
    with user():
        say("x")

@program
def endless(city: City):
    again(city)

@program
def again(city: City):
    endless(city)

@program
def deep():
    with module("m"):
        say(str(b"x"))

"""


@pytest.fixture
def load(tmp_path):
    def load(source):
        path = tmp_path / "drawn.py"
        path.write_text(HEAD + textwrap.dedent(source), encoding="utf-8")
        spec = importlib.util.spec_from_file_location("drawn", path)
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        return made

    return load


def refused(load, source, said):
    """The error of compiling `p`; its line is the one that is marked `# <-`."""
    made = load(source)
    with pytest.raises(ProgramError, match=said) as caught:
        made.p.schema()
    error = caught.value
    with open(error.filename, encoding="utf-8") as file:
        lines = file.read().splitlines()
    marked = [number for number, line in enumerate(lines, 1) if "# <-" in line]
    assert [error.lineno] == marked
    assert error.text == lines[error.lineno - 1] and 1 <= error.offset <= len(error.text)
    return error


PARAMETERS = "city: City, mood: Mood, flag: bool, days: Annotated[str, Len(8)], q: str, several: Set[City], t: Optional[str]"

STATEMENTS = {
    "pass; 'text'  # <-": "says nothing when it is run; write say",
    "while flag: say('x')  # <-": "while is not compiled",
    "import sys  # <-": "import is not compiled",
    "say(shout(q))  # <-": r"shout\(\) is not called when a program is compiled; pass its result",
    "shout(q)  # <-": r"shout\(\) is no program",
    "say(q.upper())  # <-": "computed from what comes with a prompt; pass the text itself",
    "say(f'{q:>8}')  # <-": "what comes with a prompt is not formatted",
    "say(f'{mood}')  # <-": r"write \.value or \.name",
    "say(3)  # <-": "a program says strings",
    "say(flag)  # <-": "a program says strings",
    "say('a', sep='')  # <-": r"say\(\) takes texts only",
    "say(*['a'])  # <-": "write the items one by one",
    "say(TEXTS[city])  # <-": "no such key: 'rome'",
    "say(nobody)  # <-": "nobody has no value that is known without running anything",
    "say(os.environ['HOME'])  # <-": "os.environ is a _Environ, no constant",
    "say(os.nothing)  # <-": "os.nothing has no value",
    "say(later); later = 'x'  # <-": "later has no value here; set it above",
    "say([c for c in TEXTS][0])  # <-": "write a for statement",
    "say((lambda: 'x')())  # <-": "a name, or module.name, is needed",
    "say('%s' % q)  # <-": "computed from what comes with a prompt",
    "say('%s' % NAMES)  # <-": "a set is no text; say its parts",
    "say('%s' % (NAMES,))  # <-": "a set is no text; say its parts",
    "say('%(a)s' % {'a': NAMES})  # <-": "a set is no text; say its parts",
    "say('%s' % {'a': 'b'})  # <-": "a dict is no text; say its parts",
    "say('%r' % {'a': 'b'})  # <-": "a dict is no text; say its parts",
    "say('%s' % ['a'])  # <-": "a list is no text; say its parts",
    "say('%s' % mood)  # <-": r"write \.value or \.name",
    "say('%s %s' % ('a', Mood.GLAD))  # <-": r"write \.value or \.name",
    "say('%(m)s' % {'m': Mood.GLAD})  # <-": r"write \.value or \.name",
    "say('%s' % ('a', 'b'))  # <-": "not all arguments converted",
    "for s in sorted([{'a'}, {'b'}]): pass  # <-": "sets have no order among each other",
    "say(q @ q)  # <-": r"of operators there are \+, -",
    "say(+q)  # <-": "there are `not` and `-`",
    "return q  # <-": "a program returns nothing; write say",
    "if flag: return  # <-\n    say('x')": "put what follows under `else:`",
    "if city == 'olso': say('x')  # <-": "'olso' is none of its choices, which are 'oslo', 'rome'",
    "if city in ('oslo', 'bern'): say('x')  # <-": "'bern' is none of its choices",
    "if 'bern' in several: say('x')  # <-": "'bern' is none of its choices",
    "if city is 'oslo': say('x')  # <-": "compared by == and !=",
    "if q < 'b': say('x')  # <-": "compared by ==, !=, is, in",
    "if len(q) > 3: say('x')  # <-": "computed from what comes with a prompt",
    "for c in several: say(c)  # <-": r"loop over the choices, and say each under `if \.\.\. in several:`",
    "for c in NAMES: say(c)  # <-": r"for a set write sorted\(\.\.\.\)",
    "for c in list(NAMES): say(c)  # <-": r"a set has no order that stays; write sorted",
    "say(', '.join(NAMES))  # <-": "a set has no order",
    "for c in OBJECTS: say(c)  # <-": "a object is no constant that a program can compute with",
    "for c in q: say(c)  # <-": "here a constant is needed",
    "for i in range(65537): pass  # <-": "with loops written out, this has more than 65,536",
    "for i in range(2):\n        say('x')\n    else:\n        say('y')  # <-": "a for has no else here",
    "for i in range(2):\n        break  # <-": "break is not compiled",
    "with open('x') as f: say('x')  # <-": r"of `with` there are system\(\), user\(\), assistant\(\) and module",
    "with user() as u: say('x')  # <-": "without `as`",
    "user()  # <-": r"write `with user\(\.\.\.\):`",
    "with user():\n        with system():  # <-\n            say('x')": r"system\(\) inside user\(\): a turn does not stand",
    "with module(q): say('x')  # <-": "here a constant is needed",
    "with module(): say('x')  # <-": r"module\(\): missing a required argument: 'name'",
    "with module(1): say('x')  # <-": r"module\(\) has a name, a string",
    "doc('../x.txt')  # <-": "not below the folder of this file",
    "doc('/etc/passwd')  # <-": "not below the folder of this file",
    "doc(q)  # <-": "the path is known with the prompt only",
    "doc('a', 'b')  # <-": r"doc\(\) takes a path",
    "greet()  # <-": r"greet\(\): missing a required argument: 'who'",
    "greet(q, 'bern')  # <-": r"greet\(\): city is one of 'oslo', 'rome', not 'bern'",
    "greet(q, q)  # <-": r"greet\(\): city is not what is passed; pass a constant, or a parameter that is declared alike",
    "greet(flag)  # <-": r"greet\(\): who is a string, not True",
    "greet(**{'who': 'x'})  # <-": r"without \* and \*\*",
    "if flag: x = 'a'\n    say(x)  # <-": "x is set on one way only, in line .*; set it before",
    "x = q\n    for i in range(40):\n        x = 'a' + x if q == t else 'b' + x  # <-": "(x|this) is put together in too many ways",
    "a, b = q  # <-": "several of them from constants only",
    "a, b = ('x',)  # <-": r"2 names, and \('x',\)",
    "x = ['a']\n    x += ['b']  # <-": r"a list is not changed; write x = x \+",
    "if city in 3: say('x')  # <-": "argument of type 'int' is not",
    "yield 'x'  # <-": r"a generator, which says nothing when it is called; write say\(",
    "say('x')\n    if False: yield  # <-": r"a generator, which says nothing when it is called; write say\(",
    "say('x')\n    if 0: yield from ()  # <-": "a generator",
    "x = (yield)  # <-": "a generator",
    "TEXTS['rome'] = 'x'  # <-": "only names are set",
    "TEXTS['rome'] += 'x'  # <-": "only names are set",
    "say('\\x00')  # <-": r"the text has U\+0000, which XML, and so PML, cannot write",
    "endless(city)": r"endless\(\) calls itself, so that its schema would have no end; called from .*drawn.py:\d+; called from",
    "deep()": "a bytes is no|bytes",
}


@pytest.mark.filterwarnings('ignore:"is" with:SyntaxWarning')
@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements(load, statement):
    if "# <-" in statement:
        refused(load, f"@program\ndef p({PARAMETERS}):\n    {statement}\n", STATEMENTS[statement])
        return
    made = load(f"@program\ndef p({PARAMETERS}):\n    {statement}\n")
    with pytest.raises(ProgramError, match=STATEMENTS[statement]) as caught:
        made.p.schema()
    assert f"called from {caught.value.filename}:" in caught.value.msg


@pytest.mark.parametrize(
    "parameter, said",
    [
        ("x", "x: nothing is known of what it may be; declare it as bool, Literal"),
        ("x: int", "x: nothing is known of what it may be"),
        ("x: List[str]", "x: nothing is known"),
        ("x: Annotated[bool, Len(3)]", "x: only a string has a length"),
        ("x: Union[str, bool]", "x: it may be things that do not go together"),
        ("*x: str", r"no \* and \*\* parameters"),
        ("**x: str", r"no \* and \*\* parameters"),
        ("x: 'Nowhere'", "Nowhere has no value"),
        ("x: 'Literal['", "this annotation is not Python"),
    ],
)
def test_parameters(load, parameter, said):
    refused(
        load,
        f"@program\ndef p(\n    {parameter},  # <-\n):\n    say('x')\n".replace(
            ",  # <-\n)", "  # <-\n)"
        ),
        said,
    )


def test_a_docstring_outside_of_turns(load):
    refused(
        load,
        "@program\ndef p():\n    'Plans.'  # <-\n    turned()\n",
        "outside of all turns; say it in one",
    )


@pytest.mark.skipif(sys.version_info < (3, 10), reason="match came with Python 3.10")
@pytest.mark.parametrize(
    "case, said",
    [
        ("case 'bern'", "none of its choices"),
        ("case x", "a case is a constant"),
        ("case ['a']", "a case is a constant"),
        ("case 'oslo' as x", "a case is a constant"),
        ("case 'oslo' if q.isdigit()", "computed from what comes with a prompt|not done when"),
    ],
)
def test_cases(load, case, said):
    refused(
        load,
        f"@program\ndef p(city: City, q: str):\n    match city:\n        {case}:  # <-\n            say('x')\n",
        said,
    )


@pytest.mark.parametrize(
    "body",
    [
        "say(q)  # <-\n    say('x')",
        "with user():\n        say(q)  # <-\n    greet('x')",
        "if flag:\n        say(q)  # <-\n    if flag:\n        say('x')",
    ],
)
def test_texts_without_room(load, body):
    source = f"@program(positions='schema')\ndef p(q: str, flag: bool):\n    {body}\n"
    refused(load, source, 'with positions="schema" there is no room for q before what follows')


def test_texts_at_the_end_need_no_room(load):
    source = "@program(positions='schema')\ndef p(q: str, flag: bool):\n    say('x')\n    if flag:\n        say(q)\n"
    assert load(source + "    else:\n        say('y')\n    say(q)\n").p.schema()


def test_python_shows_the_place(load):
    error = refused(load, "@program\ndef p(q: str):\n    say('é', shout(q))  # <-\n", "not called")
    assert error.text[error.offset - 1 :].startswith("shout(q)")
    assert isinstance(error, SyntaxError) and "drawn.py" in str(error)


def test_places_in_functions_of_functions(load):
    refused(
        load,
        """\
        def made():
            text = "Inner."

            @program
            def p(q: str):
                say(text)
                say(q + 1)  # <-

            return p

        p = made()
        """,
        "computed from what comes",
    )


@pytest.mark.parametrize(
    "line",
    ["say(__text)  # <-", "__x = 'a'  # <-", "say(Mood.__glad)  # <-", "say(t(__x='a'))  # <-",
     "for __x in 'ab': pass  # <-", "if False: say(__text)  # <-"],
)  # fmt: skip
def test_names_that_a_class_makes_others(load, line):
    """Python looks for _Holder__text, where the source says __text, and finds neither or another one."""
    source = f"""\
__text = "the file's"
_Holder__text = "the class's"

class Outer:
    class __Holder:
        @program
        def p(q: str):
            say("x")
            {line}

p = vars(Outer)["_Outer__Holder"].p
"""
    refused(load, source, r"in a class __\w+ is _Holder__\w+ to Python; write it with one underscore")


def test_names_that_a_class_makes_others_in_functions_and_parameters(load):
    source = """\
        class Holder:
            def made(self):
                @program
                def p(
                    __q: str,  # <-
                ):
                    say("x")
                return p

        p = Holder().made()
        """
    refused(load, source, "in a class __q is _Holder__q to Python")


def test_names_that_stay(load):
    made = load(
        """\
        __text = "private "

        @program
        def p(__q: str):
            say(__text, __q)

        class _:
            @program
            def r(__q: str):
                say(__text, __name__)
        """
    )
    assert made.p.messages("x") == [{"role": None, "content": "private x"}]
    assert "private " in made.p.schema() and "private drawn" in made._.r.schema()
    assert made._.r.messages("x") == [{"role": None, "content": "private drawn"}]


def test_enums_that_compare_by_code_of_their_own(load):
    loud = (
        "class Loud(enum.Enum):\n    A = 1\n    __hash__ = enum.Enum.__hash__\n"
        "    def __eq__(self, other):\n        raise SystemExit('this is not to be run')\n\n@program\n"
    )
    said = "Loud has an __eq__ of its own, which is not called here"
    refused(load, loud + "def p(\n    a: Loud,  # <-\n): say('x')\n", said)
    refused(load, loud + "def p():\n    if Loud.A == Loud.A: say('x')  # <-\n", said)


DEEP = {
    "sum": "say(" + " + ".join(["q"] * 800) + ")  # <-",
    "choice": "say(" + "".join(f"'{i}' if q == '{i}' else " for i in range(400)) + "'x')  # <-",
    "not": "if " + "not " * 600 + "q: say('x')  # <-",
}


@pytest.mark.parametrize("kind", DEEP)
def test_what_nests_deeper_than_python_is_told(load, kind):
    said = "nested deeper than Python goes, in p; say parts of it|this is put together in too many ways"
    refused(load, f"@program\ndef p(q: str):\n    {DEEP[kind]}\n", said)


def test_what_nests_too_deep_in_a_loop_names_the_loop(load):
    body = "for a in 'ab':\n        for b in 'cd':\n            " + DEEP["sum"]
    error = refused(load, f"@program\ndef p(q: str):\n    {body}\n", "nested deeper than Python goes, by")
    assert f"by the loop in line {error.lineno - 1}, in p" in error.msg


@pytest.mark.parametrize("again", ["'a' if q == str(i) else x", "not x", "x and q == str(i)"])
def test_loops_that_nest_a_name_in_itself(load, again):
    source = f"@program\ndef p(q: str):\n    x = q\n    for i in range(1500):\n        x = {again}  # <-\n"
    refused(load, source, "(x|this) is put together in too many ways; say each part where it is decided")


def test_calls_that_nest_too_deep_are_named(load):
    links = [f"@program\ndef p{i}(q: str):\n    say(q)\n    p{i + 1}(q)\n\n" for i in range(400)]
    made = load("".join(links) + "@program\ndef p400(q: str):\n    say(q)\n\np = p0\n")
    with pytest.raises(ProgramError, match="nested deeper than Python goes, in p.* > p") as caught:
        made.p.schema()
    assert len(caught.value.msg) < 2000 and re.search(r"called from .* and \d+ more$", caught.value.msg)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(["'a' if q == t else {}", "({} + q)", "not {}", "({} or q)", "(q if {} else t)"]),
    st.integers(1, 400),
)
def test_no_depth_is_anything_but_compiled_or_told(load, shape, depth):
    before, behind = shape.split("{}")
    nested = before * depth + "q" + behind * depth
    try:
        made = load(f"@program\ndef p(q: str, t: str):\n    if {nested}: say('yes')\n    else: say('no')\n")
    except (SyntaxError, RecursionError, MemoryError):
        reject()  # Python reads no such file
    try:
        made.p.schema()
    except ProgramError as error:
        assert re.search("nested deeper than Python goes|this is put together in too many ways", error.msg)
    else:
        said = made.p.messages("x", "x")[0]["content"]
        assert [path.split("/")[-1] for path in made.p("x", "x").modules]
        assert f">{said}<" in made.p.schema()


def test_sources_that_are_gone(load):
    made = load("@program\ndef p():\n    say('x')\n")
    with open(made.__file__, "w", encoding="utf-8") as file:
        file.write("\n" * 60)
    with pytest.raises(ProgramError, match="not there any more|cannot be read"):
        made.p.schema()
    space = {}
    exec("from promptcache.program import *\n@program\ndef p(): say('x')", space)
    with pytest.raises(ProgramError, match=r"the source of p\(\) cannot be read"):
        space["p"].schema()


def test_async_functions(load):
    made = load("@program\nasync def p():\n    say('x')\n")
    with pytest.raises(ProgramError, match="by def, not by async def"):
        made.p.schema()


def test_what_is_no_function():
    from promptcache.program import program

    with pytest.raises(TypeError, match="a program is a function, not 3"):
        program(3)


def test_lengths_name_parameters(load):
    made = load("@program(lengths={'dasy': 3})\ndef p(days: str):\n    say(days)\n")
    with pytest.raises(ProgramError, match="lengths= names 'dasy', which is no parameter"):
        made.p.schema()


@pytest.mark.parametrize(
    "arguments, kind, said",
    [
        (dict(city="bern"), ValueError, r"p\(\): city is one of 'oslo', 'rome', not 'bern'"),
        (dict(flag=1), ValueError, r"p\(\): flag is one of True, False, not 1"),
        (dict(q=3), TypeError, r"p\(\): q is a string, not 3"),
        (dict(q=None), TypeError, r"p\(\): q is a string, not None"),
        (dict(several="oslo"), TypeError, r"p\(\): several is a collection of 'oslo', 'rome'"),
        (
            dict(several=["bern"]),
            ValueError,
            r"p\(\): several has members of 'oslo', 'rome', not 'bern'",
        ),
        (dict(nobody=1), TypeError, r"p\(\): got an unexpected keyword argument 'nobody'"),
    ],
)
def test_arguments(load, arguments, kind, said):
    made = load(
        "@program\ndef p(city: City = 'oslo', flag: bool = True, q: str = '', several: Set[City] = frozenset()):\n    say(q)\n"
    )
    assert made.p().pml
    with pytest.raises(kind, match=said):
        made.p(**arguments)


def test_texts_that_are_left_out(load):
    made = load("@program\ndef p(t: Optional[str] = None):\n    say('a', t)\n")
    with pytest.raises(
        TypeError, match=r"p\(\): t is None where the program says it; say it under `if t is not None:`"
    ):
        made.p().pml
    assert "abc" == re.sub("<[^>]*>|\\s", "", made.p("bc").pml.replace("<t>", "a"))


def test_characters_that_xml_cannot_write(load):
    made = load("@program\ndef p(q: str, days: Annotated[str, Len(3)]):\n    say(q)\n    say(days)\n")
    for arguments in (("\x00", ""), ("", "\ud800"), ("\ufffe", "")):
        with pytest.raises(ValueError, match=r"p\(\): .*which XML, and so PML, cannot write"):
            made.p(*arguments).pml


def test_words_outside_of_programs():
    from promptcache.program import doc, module, say, user

    for use in (lambda: say("x"), lambda: doc("x"), user().__enter__, module("m").__enter__):
        with pytest.raises(RuntimeError, match="stands in a program"):
            use()
