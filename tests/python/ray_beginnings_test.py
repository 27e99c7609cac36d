"""Beginnings of requests: what two of them have in common they have in common, and nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from promptcache.ray.beginnings import BLOCK, MOST, beginnings
from promptcache.ray.memory import Memory
from promptcache.ray.table import Known, Table

CHAT = "/v1/chat/completions"
TEXTS = st.one_of(st.text(max_size=40), st.sampled_from(["harbour " * 400, "x" * BLOCK, "é" * 3000, ""]))
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant"]), "content": TEXTS}),
    min_size=1, max_size=6,
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["messages", "prompt", "schema", "tools", "content", "role", "module", "input"]),
        inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


def of(messages, **fields):
    return beginnings(CHAT, {"model": "m", "messages": messages, **fields})


def digests(found):
    return [beginning.digest for beginning in found]


@given(MESSAGES, MESSAGES)
def test_who_goes_on_has_all_beginnings_of_before(messages, more):
    before, after = of(messages), of(messages + more)
    assert digests(after)[: len(before)] == digests(before)
    assert len(set(digests(after))) == len(after)


@given(MESSAGES, MESSAGES)
def test_common_beginnings_are_common_text(one, other):
    """Of what comes first, message by message: none is shared behind the first that differs."""
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    shared = set(digests(of(one))) & set(digests(of(other)))
    assert shared >= set(digests(of(one[:same])))
    behind = set(digests(of(one))) - set(digests(of(one[: same + 1])))
    assert same == len(one) or not shared & behind


@given(st.text(min_size=3 * BLOCK, max_size=4 * BLOCK), st.integers(0, 3 * BLOCK - 1))
def test_a_text_is_cut_within(text, at):
    raw = text.encode()
    changed = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
    one, other = (
        beginnings("/v1/completions", {"prompt": one.decode("latin-1")}) for one in (raw, changed)
    )
    shared = len(set(digests(one)) & set(digests(other)))
    assert shared <= len(one)
    assert digests(one)[:shared] == digests(other)[:shared]


def test_a_megabyte_has_a_bounded_number():
    assert len(beginnings("/v1/completions", {"prompt": "x" * (4 << 20)})) == MOST


@given(JSON)
def test_nothing_that_is_json_is_an_error(body):
    for path in (CHAT, "/pml/run", "/v1/responses", "/v1/messages"):
        assert len(beginnings(path, body)) <= MOST


def test_the_model_and_what_stands_in_front_count():
    messages = [{"role": "user", "content": "Hm?"}]
    plain = digests(of(messages))
    assert not set(plain) & set(digests(of(messages, model="other")))
    assert not set(plain) & set(digests(of(messages, tools=[{"name": "now"}])))
    assert not set(plain) & set(digests(of(messages, system="You are a guide.")))


def test_a_text_is_the_same_whole_and_in_parts_and_marked():
    parts = [{"type": "text", "text": "Where "}, {"type": "text", "text": "is it?",
             "cache_control": {"type": "ephemeral"}}]  # fmt: skip
    whole = of([{"role": "user", "content": "Where is it?"}])
    assert digests(of([{"role": "user", "content": parts}])) == digests(whole)


def test_modules_are_found_in_any_order():
    one = beginnings("/pml/run", {"prompt": '<prompt schema="guide"><oslo/><vienna/>What?</prompt>'})
    other = beginnings("/pml/run", {"prompt": '<prompt schema="guide"><user><vienna/>And?</user></prompt>'})
    chat = beginnings(CHAT, {"schema": "guide", "messages": [
        {"role": "user", "content": [{"type": "module", "module": "vienna"}]}]})  # fmt: skip
    assert len(set(digests(one)) & set(digests(other))) == 2
    assert len(set(digests(one)) & set(digests(chat))) == 2


def has_of(found, n):
    return sum(beginning.n_bytes for beginning in found[:n])


@given(MESSAGES, MESSAGES, st.integers(1, 30))
def test_a_table_is_bounded_and_forgets_the_oldest_and_longest_first(one, other, most):
    first, second = of(one), of(other, model="other")
    table, known = Table(most), Known(most)
    for found in (first, second):
        table.note("a", digests(found))
        known.note(digests(found))
    assert len(table) == len(known) == min(most, len(first) + len(second))
    kept = min(most, len(second))
    assert known.has(second) == has_of(second, kept)
    assert table.has(second) == ({"a": known.has(second)} if kept else {})


def test_a_table_tells_holders_apart():
    found = of([{"role": "user", "content": "x" * (3 * BLOCK)}])
    table = Table()
    table.note("a", digests(found))
    table.note("b", digests(found)[:2])
    assert table.has(found) == {"a": has_of(found, len(found)), "b": has_of(found, 2)}
    table.forget("a")
    assert table.has(found) == {"b": has_of(found, 2)}
    assert len(table) == 2


def test_what_a_store_answered_is_remembered(tmp_path):
    store = tmp_path / "node"
    one, other = (of([{"role": "user", "content": text * 900}]) for text in ("one ", "two "))
    memory = Memory(store)
    memory.note(one)
    Memory(store).note(other)
    again = Memory(store)
    assert again.has(one) == has_of(one, len(one)) and again.has(other) == has_of(other, len(other))
    file = tmp_path / "node.beginnings"
    file.write_bytes(file.read_bytes()[:-3])  # cut off, as a crash does
    assert 0 < Memory(store).has(one) + Memory(store).has(other) < again.has(one) + again.has(other)
    file.unlink()
    assert Memory(store).has(one) == 0


def test_a_store_without_a_place_for_its_memory_answers(tmp_path):
    memory = Memory(tmp_path / "no" / "such" / "folder")
    found = of([{"role": "user", "content": "Hm?"}])
    memory.note(found)
    assert memory.has(found) > 0
