"""Engines, schemas and prompts."""

import os
import pathlib
import re
import subprocess
import sys

import numpy
import pytest

import promptcache


def test_errors_have_a_class_and_a_place(guide, engine):
    with pytest.raises(promptcache.PMLSemanticError, match="oslo") as raised:
        guide.prompt('<prompt schema="city-guide">\n <osl/></prompt>')
    assert (raised.value.line, raised.value.status) == (2, 8)
    with pytest.raises(promptcache.PMLSyntaxError):
        engine.schema("<schema name='s'>")
    with pytest.raises(promptcache.NotFound, match="no-such-model"):
        promptcache.Engine("no-such-model")
    assert issubclass(promptcache.OutOfMemory, MemoryError)


def test_every_status_of_the_header_has_a_class(root):
    header = (root / "include/promptcache/promptcache.h").read_text()
    named = header.split("typedef int32_t pc_status;")[1].split("};")[0]
    statuses = {int(number) for number in re.findall(r"PC_[A-Z_]+ = (\d+)", named)}
    assert statuses - {0, 100, 101} == set(promptcache.errors.BY_STATUS)


def test_facts_and_reprs(engine, guide, ask):
    facts = engine.facts
    assert facts.context_tokens == 2048 and facts.store_in_use and facts.has_chat_format
    assert "city-guide" in repr(engine)
    assert "13 modules" in repr(guide)
    assert "tokens" in repr(guide.prompt(ask()))
    assert engine.describe()["vocab_size"] == facts.vocab_size


def test_tokens_are_the_text(engine):
    for text in ("", "Oslo is blue.", "a\0b", "ü 漢字 🙂"):
        assert engine.detokenize(engine.tokenize(text)).strip() == text.strip()


def test_encode_tells_how_far_it_is(engine):
    told = []
    schema = engine.schema(
        "<schema name='n'><module name='a'>One.</module><module name='b'>Two.</module></schema>"
    )
    done = schema.encode(progress=lambda what, n, total: told.append((what, n, total)))
    assert done.modules_encoded >= 2
    assert {what for what, _, _ in told} >= {"a", "b"}
    assert told[-1][1:] == (done.modules, done.modules)
    assert schema.encode().modules_encoded == 0
    with schema.pin():
        assert engine.trim() >= 0


def test_messages_are_the_same_prompt_as_pml(engine):
    schema = engine.schema(
        "<schema name='m'><module name='city'>About <param name='name' len='4'/>.</module></schema>"
    )
    use = promptcache.Use("city", {"name": "Oslo"})
    one = schema.messages([{"role": "user", "content": [use, "Is it <blue>?"]}])
    two = schema.prompt(
        '<prompt schema="m"><user><city name="Oslo"/>Is it &lt;blue&gt;?</user></prompt>'
    )
    assert one.token_ids == two.token_ids
    with pytest.raises(TypeError, match="tool_calls"):
        schema.messages([{"role": "user", "content": "", "tool_calls": []}])


def test_explained_in_a_notebook(guide, ask):
    page = guide.prompt(ask())._repr_html_()
    assert "oslo" in page and page.count("<tr>") == len(guide.prompt(ask()).explain()["runs"]) + 1


def test_vectors_have_length_one(engine):
    vectors = engine.embed(["Oslo is blue.", "Vienna"])
    assert vectors.shape == (2, engine.facts.n_dimensions)
    assert numpy.allclose(numpy.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert engine.embed(["Oslo"], n_dimensions=8).shape == (1, 8)


def test_chat_and_its_prompt(engine):
    messages = [{"role": "user", "content": "Hello"}]
    told = []
    reply = engine.chat(messages, max_tokens=6, on_text=told.append)
    assert str(reply) == "".join(told) == engine.write_chat(messages).generate(max_tokens=6)
    assert "Hello" in engine.render_chat(messages)
    messages += [reply.message, {"role": "user", "content": "And?"}]
    assert engine.chat(messages, max_tokens=2).stats.generated_tokens <= 2


def test_namespaces_share_nothing(engine, ask, root):
    view = engine.in_namespace("somebody")
    schema = view.load_schema(root / "examples/city-guide/city-guide.pml")
    assert schema.prompt(ask()).counts.modules_missing == 2


def test_the_store_is_described(cache_dir, guide, ask):
    guide.prompt(ask()).encode()
    with promptcache.Store(cache_dir) as store:
        files = store.describe()["files"]
        assert files and store.show(files[0]["key"])["key"] == files[0]["key"]
        assert f"{len(files)} modules" in repr(store)
        assert store.verify()["bad"] == 0
        with pytest.raises(promptcache.NotFound):
            store.pin("0" * 64)


def test_a_fork_gets_an_error(engine, guide, ask):
    """An engine that has computed does not in a child made by fork alone; it says so."""
    guide.prompt(ask()).generate(max_tokens=1)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            guide.prompt(ask()).generate(max_tokens=1)
            said = b"computed"
        except promptcache.Error as error:
            said = str(error).encode()
        os.write(write, said)
        os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        assert b"fork" in file.read()
    os.waitpid(child, 0)


def test_a_library_that_is_not_there_is_named():
    run = subprocess.run(
        [sys.executable, "-c", "import promptcache"],
        env={**os.environ, "PROMPTCACHE_LIBRARY": "/no/such/library.so"},
        capture_output=True,
        text=True,
    )
    assert run.returncode and "PROMPTCACHE_LIBRARY" in run.stderr


def test_paths_may_be_path_objects(tmp_path, root):
    with promptcache.Engine(pathlib.Path(root / "models/city-guide"), cache_dir=tmp_path) as engine:
        assert engine.facts.vocab_size
    assert promptcache.inspect(root / "models/city-guide")["refused"] is None
    assert promptcache.build()["version"] == promptcache.__version__


def test_what_another_store_has_is_found_there(root, tmp_path):
    model = root / "models/city-guide"
    text = '<schema name="s"><module name="a">The museum of Oslo opens at ten.</module></schema>'
    with promptcache.Engine(model, cache_dir=tmp_path / "shared") as engine:
        engine.schema(text).encode()
    with promptcache.Engine(model, cache_dir=tmp_path / "own", cache_from=[tmp_path / "none", tmp_path / "shared"]) as engine:
        assert engine.schema(text).encode().modules_encoded == 0
        behind = engine.describe()["cache"]["from"]
        assert [tier["found"] for tier in behind] == [0, 2]  # the module, and what stands before it
        assert "none" in behind[0]["trouble"] and "none" in engine.describe()["remark"]
        assert engine.cache_counts()["found_behind"] == 2
    with pytest.raises(promptcache.InvalidArgument, match="cache_from"):
        promptcache.Engine(model, cache="off", cache_from=tmp_path / "shared")
    with pytest.raises(ValueError, match="cache_copy"):
        promptcache.Engine(model, cache_copy="perhaps")


def test_a_store_takes_what_another_has_and_what_was_signed(root, tmp_path):
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", tmp_path / "key"], check=True)
    subprocess.run(["openssl", "pkey", "-in", tmp_path / "key", "-pubout", "-out", tmp_path / "pub"], check=True)
    with promptcache.Engine(root / "models/city-guide", cache_dir=tmp_path / "shared") as engine:
        engine.schema('<schema name="s"><module name="a">The museum of Oslo opens at ten.</module></schema>').encode()
    (tmp_path / "own").mkdir()
    with promptcache.Store(tmp_path / "shared") as shared, promptcache.Store(tmp_path / "own") as own:
        keys = [file["key"] for file in shared.describe()["files"]]
        with pytest.raises(promptcache.Error, match="manifest"):
            own.pull(tmp_path / "shared", trust=[tmp_path / "pub"])
        assert shared.sign(tmp_path / "key") == len(keys)
        assert own.pull(tmp_path / "shared", [], trust=[tmp_path / "pub"])["copied"] == 0
        assert own.pull(tmp_path / "shared", keys[:1], trust=[tmp_path / "pub"])["copied"] == 1
        rest = own.pull(tmp_path / "shared")
        assert (rest["copied"], rest["there"], rest["failed"]) == (len(keys) - 1, 1, [])
        assert own.verify()["bad"] == 0
