"""Random programs, as hypothesis draws them: the source text of a file, and arguments."""

import sys

from hypothesis import strategies as st

HEAD = """\
import enum
from typing import Annotated, FrozenSet, Literal, Optional

from promptcache.program import Len, assistant, doc, module, program, say, system, user


class Mood(enum.Enum):
    GLAD = "glad & sound"
    SAD = "sad"


PLACES = ("oslo", "rome", "new york")
TEXTS = {"oslo": "Oslo <is> cold.", "rome": " Rome\\nis warm. ", "new york": ""}

"""

PARAMETERS = {
    "place": 'Literal["oslo", "rome", "new york"]',
    "mood": "Mood",
    "flag": "bool",
    "size": "Literal[1, 2, None]",
    "days": "Annotated[str, Len(200)]",
    "note": "Optional[str]",
    "question": "str",
    "visited": 'FrozenSet[Literal["oslo", "rome", "new york"]]',
}

# White space at all ends, characters that XML escapes, and what ends its sections.
said = st.text(st.sampled_from(list("ab .\n\t<>&\"'{}é😀]\r")), max_size=8) | st.sampled_from(
    ["]]>", "<!-- no -->", "  two  ", "&amp;", "<s>", "\n\n"]
)


def literal(text):
    return repr(text)


def f_string(parts):
    """An f-string of ("text", ...) and ("value", source) parts, in one line."""
    escaped = "".join(
        repr(p)[1:-1].replace("{", "{{").replace("}", "}}").replace('"', '\\"')
        if k == "text"
        else "{" + p + "}"
        for k, p in parts
    )
    return 'f"' + escaped.replace("\\'", "'") + '"'


values = st.sampled_from(
    [
        "place",
        "place.upper()",
        "mood.value",
        "mood.name",
        "days",
        "question",
        "size",
        "flag",
        "size!r",
        "place:>9",
        "1 + 2",
    ]
)
names = st.sampled_from(["text", "more"])
conditions = st.recursive(
    st.sampled_from(
        [
            "flag",
            "not flag",
            'place == "oslo"',
            'place != "rome"',
            'place in ("rome", "oslo")',
            "mood is Mood.SAD",
            "mood == Mood.GLAD",
            "size is None",
            "size == 1",
            'days == ""',
            "note",
            "note is None",
            "question != note",
            '"oslo" in visited',
            "place in visited",
            "not visited",
            "len(TEXTS[place]) > 3",
        ]
    ),
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner)
        | st.builds("not {}".format, inner)
    ),
    max_leaves=3,
)
expressions = st.recursive(
    said.map(literal)
    | st.lists(st.tuples(st.just("text"), said) | st.tuples(st.just("value"), values), max_size=4).map(
        f_string
    )
    | st.sampled_from(
        ["place", "days", "question", "TEXTS[place]", '(note or "none")', "mood.value", "text"]
    ),
    lambda inner: (
        st.builds("{} + {}".format, inner, inner)
        | st.builds("({} if {} else {})".format, inner, conditions, inner)
    ),
    max_leaves=3,
)


def indented(lines):
    return ["    " + line for line in lines]


def flat(blocks):
    return [line for block in blocks for line in block] or ["pass"]


says = expressions.map(lambda e: [f"say({e})"]) | st.builds(
    lambda a, b: [f"say({a}, {b})"], expressions, expressions
)
sets = st.builds(lambda e, op: [f"text {op} {e}"], expressions, st.sampled_from(["=", "+="]))


def deeper(inner):
    body = st.lists(inner, max_size=3).map(flat).map(indented)
    chains = st.builds(
        lambda first, more, last: flat(
            [[f"if {first[0]}:"], first[1]]
            + [part for test, block in more for part in ([f"elif {test}:"], block)]
            + ([["else:"], last] if last else [])
        ),
        st.tuples(conditions, body),
        st.lists(st.tuples(conditions, body), max_size=2),
        st.none() | body,
    )
    matches = st.builds(
        lambda a, b, c: flat(
            [
                ["match place:"],
                ['    case "rome":'],
                indented(a),
                ['    case "oslo" | "new york" if flag:'],
                indented(b),
            ]
            + [["    case _:"], indented(c)]
        ),
        body,
        body,
        body,
    )
    moods = st.builds(lambda a: flat([["match mood:"], ["    case Mood.SAD:"], indented(a)]), body)
    loops = st.builds(
        lambda a: (
            flat([["for i, city in enumerate(PLACES):"], ["    if city in visited:"], indented(a)])
            + ['    say(f"{i}: {TEXTS[city]}")']
        ),
        body,
    )
    modules = st.builds(lambda a: flat([['with module("aside"):'], a]), body)
    ways = chains | loops | modules
    return ways | matches | moods if sys.version_info >= (3, 10) else ways


calls = st.sampled_from(
    [
        ["helper(place, days)"],
        ['helper("rome", "x" + question, flag)'],
        ["helper(place, note or days, loud=mood is Mood.GLAD)"],
        ["helper(place=place, what=TEXTS[place])"],
    ]
)
statements = st.recursive(says | sets, deeper, max_leaves=8)


def function(name, parameters, body, docstring=None):
    doc = [] if docstring is None else ["    " + repr(docstring)]
    return "\n".join(["@program", f"def {name}({parameters}):", *doc, *indented(body)]) + "\n\n"


HELPER_PARAMETERS = (
    'place: Literal["oslo", "rome", "new york"], what: Annotated[str, Len(200)], loud: bool = False'
)
helper_bodies = st.lists(
    st.sampled_from(
        [
            ['say("Help < ", what)'],
            ["if loud:", '    say("LOUD ")', "else:", '    say(f"{place} ")'],
            ["if loud and what:", "    say(what)"],
            ['if place == "rome": say("R")', 'elif place == "oslo":', '    say("O", what)'],
            ["say(TEXTS[place])"],
        ]
    ),
    max_size=3,
).map(flat)


@st.composite
def program_files(draw, turns=False):
    """The source of a file with `helper` and `subject`. turns: what is said stands in turns."""
    helper = function(
        "helper", HELPER_PARAMETERS, draw(helper_bodies), draw(st.none() | st.just("Hello.\n  You."))
    )
    parts = st.lists(statements | calls, max_size=4).map(flat)
    body = ['text = ""']
    if turns:
        roles = draw(st.lists(st.sampled_from(["system", "user", "assistant"]), min_size=1, max_size=3))
        for role in roles:
            block = [f"with {role}():", *indented(draw(parts))]
            if draw(st.booleans()):
                block = [f"if {draw(conditions)}:", *indented(block)]
            body += block
    else:
        body += draw(parts)
    doc = None if turns else draw(st.none() | said.filter(str.strip))
    parameters = ", ".join(f"{name}: {kind}" for name, kind in PARAMETERS.items())
    return HEAD + helper + function("subject", parameters, body, doc)


texts = st.text(st.sampled_from(list("ab .\n<&\"'é]>\t")), max_size=6)
arguments = st.fixed_dictionaries(
    {
        "place": st.sampled_from(["oslo", "rome", "new york"]),
        "mood": st.sampled_from(["GLAD", "SAD"]),
        "flag": st.booleans(),
        "size": st.sampled_from([1, 2, None]),
        "days": texts,
        "note": st.none() | texts,
        "question": texts,
        "visited": st.frozensets(st.sampled_from(["oslo", "rome", "new york"])),
    }
)


@st.composite
def marked_files(draw):
    """The source of a file whose `subject` says in each branch the name of a module there: taken7."""
    body = flat(
        draw(st.lists(st.recursive(st.just(["say('<marked>')"]), deeper, max_leaves=8), max_size=4))
    )
    numbered = []
    for line in body:
        if line.strip() == "say('<marked>')":
            indent = line[: -len("say('<marked>')")]
            name = f"taken{len(numbered)}"
            numbered += [f"{indent}with module({name!r}):", f"{indent}    say('<{name}>')"]
        else:
            numbered.append(line)
    parameters = ", ".join(f"{name}: {kind}" for name, kind in PARAMETERS.items())
    return HEAD + function("subject", parameters, numbered)
