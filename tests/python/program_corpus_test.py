"""Schemas that were published with Prompt Cache, as programs: the same modules at the same positions,
down to the keys of their states, and the same prompts."""

import re
import xml.etree.ElementTree as ElementTree
from typing import Annotated, FrozenSet, Literal

import pytest

from promptcache.program import Len, assistant, module, program, say, system, user


def folded(run):
    """A text run as PML reads it (docs/PML.md, 3)."""
    run = run or ""
    if not run.strip():
        return ""
    return re.sub(r"^\s+", " ", re.sub(r"\s+$", " ", run))


def texts_of(element, tag="module"):
    return {e.get("name", e.tag): folded(e.text) for e in element.iter(tag)}


@pytest.fixture
def examples(shared):
    return shared / "pml_corpus/HEAD/examples"


@pytest.fixture
def embedded(shared):
    return shared / "pml_corpus/embedded"


def same_layout(engine, program, path):
    ours, published = program.load(engine).describe(), engine.load_schema(path).describe()
    assert ours["modules"] == published["modules"]
    assert (ours["name"], ours["tokens"], ours["extent"]) == tuple(
        published[k] for k in ("name", "tokens", "extent")
    )


def same_text(engine, program, call, path, prompt):
    published = engine.load_schema(path).prompt(prompt.read_text(encoding="utf-8"))
    assert engine.detokenize(program.load(engine).prompt(call.pml).token_ids) == engine.detokenize(
        published.token_ids
    )


def test_travel(engine, examples, embedded):
    path = examples / "parameterized_prompts.xml"
    root = ElementTree.parse(path).getroot()
    texts, roles = (
        texts_of(root),
        {role: folded(root.find(role).text) for role in ("system", "assistant")},
    )
    behind = {p.get("name"): folded(p.tail) for p in root.iter("parameter")}
    places = {
        m.get("name"): texts[m.get("name")]
        for m in root.findall(".//module[@name='overseas']/union/module")
    }
    Place = Literal[tuple(places)]

    @program
    def domestic(city: Annotated[str, Len(10)]):
        say(texts["domestic"], city, behind["city"])

    @program
    def overseas(place: Place):
        say(texts["overseas"])
        say(places[place])

    @program(name="travel-plan")
    def travel_plan(
        duration: Annotated[str, Len(5)],
        where: Literal["domestic", "overseas"],
        city: Annotated[str, Len(10)],
        place: Place,
    ):
        say(texts["travel-plan"], duration, behind["duration"])
        if where == "domestic":
            domestic(city)
        elif where == "overseas":
            overseas(place)

    def travel(asks):
        @program(name="travel")
        def travel(
            duration: Annotated[str, Len(5)],
            where: Literal["domestic", "overseas"],
            city: Annotated[str, Len(10)],
            place: Place,
            question: str,
        ):
            with system():
                say(roles["system"])
            with user():
                travel_plan(duration, where, city, place)
            with assistant():
                say(roles["assistant"])
            if asks:
                with user():
                    say(question)

        return travel

    same_layout(engine, travel(asks=False), path)
    asked = travel(asks=True)
    call = asked("a week", "overseas", "", "tokyo", " Create a travel plan ")
    assert call.modules == [
        "travel-plan",
        "travel-plan/overseas",
        "travel-plan/overseas/tokyo",
        "question",
    ]
    same_text(engine, asked, call, path, embedded / "main_travel_prompt.xml")


def persona_program(roles, traits, asks):
    @program(name="persona")
    def persona(
        age: Literal[tuple(traits["age"])],
        residence: Literal[tuple(traits["residence"])],
        education: Literal[tuple(traits["education"])],
        occupation: Literal[tuple(traits["occupation"])],
        status: Literal[tuple(traits["martial-status"])],
        personality: Literal[tuple(traits["personality"])],
        question: str,
    ):
        with system():
            say(roles["system"])
        with user():
            say(roles["user"])
            with module("age"):
                say(traits["age"][age])
            with module("residence"):
                say(traits["residence"][residence])
            with module("education"):
                say(traits["education"][education])
            with module("occupation"):
                say(traits["occupation"][occupation])
            with module("martial-status"):
                say(traits["martial-status"][status])
            with module("personality"):
                say(traits["personality"][personality])
        with assistant():
            say(roles["assistant"])
        if asks:
            with user():
                say(question)

    return persona


def test_persona(engine, examples, embedded):
    path = examples / "persona_generation.xml"
    root = ElementTree.parse(path).getroot()
    roles = {role: folded(root.find(role).text) for role in ("system", "user", "assistant")}
    traits = {m.get("name"): texts_of(m.find("union")) for m in root.findall("user/module")}

    same_layout(engine, persona_program(roles, traits, asks=False), path)
    persona = persona_program(roles, traits, asks=True)
    traits_of_one = ("young-adult", "seaside", "doctorate", "technology", "married", "introverted")
    call = persona(*traits_of_one, " Introduce about yourself. ")
    same_text(engine, persona, call, path, embedded / "readme_persona_prompt.xml")


def code_program(name, roles, files, asks=True):
    @program(name=name)
    def code(read: FrozenSet[Literal[tuple(files)]], question: str):
        with system():
            say(roles["system"])
        with user():
            say(roles["user"])
            for file in files:
                if file in read:
                    say(files[file])
        with assistant():
            say(roles["assistant"])
        if asks:
            with user():
                say(question)

    return code


def test_bookstore(engine, examples):
    path = examples / "code_generation_bookstore.xml"
    root = ElementTree.parse(path).getroot()
    roles = {role: folded(root.find(role).text) for role in ("system", "user", "assistant")}
    texts = texts_of(root)
    same_layout(engine, code_program("code-generation-bookstore", roles, texts, asks=False), path)
    code = code_program("code-generation-bookstore", roles, texts)
    assert code(["store.py", "book.py"], "Add a till.").modules == ["book.py", "store.py", "question"]


def test_the_game_whose_schema_is_no_xml(engine, examples):
    """Its texts have `<` as code has it, which a program may say and XML may not."""
    published = (examples / "code_generation_game.xml").read_text(encoding="utf-8")
    files = dict(re.findall(r'<module name="([^"]+)">(.*?)</module>', published, re.S))
    code = code_program(
        "code-generation-game", dict(system="Read.", user="Files:", assistant="Read."), files
    )
    assert any("<" in text for text in files.values())
    schema = code.load(engine)
    call = code(files, "Create a main entry for the game:")
    assert call.modules == ["unit.py", "map.py", "player.py", "game.py", "database.py", "question"]
    said = "".join(files.values())
    assert said in engine.detokenize(schema.prompt(call.pml).token_ids)
