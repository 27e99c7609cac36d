"""A fleet of three nodes with stores of their own: answers, protocols, routing, exchange."""

import contextlib
import json
import socket

import pytest

from ray_support import Single, fleet, model_in

SYSTEM = "You are a guide to the city of CITY. You know each tram by its number, and each harbour. " * 6


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return model_in(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def taken():
    """What Ray Serve binds by default, as a fleet beside this one has it, or Consul, or a JMX exporter."""
    with contextlib.ExitStack() as held:
        for port in (8404, 8500, 9101, 9500):
            with contextlib.suppress(OSError):  # so it is taken already
                held.enter_context(socket.create_server(("", port)))
        yield


@pytest.fixture(scope="module")
def three(tmp_path_factory, model, taken):
    with fleet(tmp_path_factory.mktemp("fleet"), 3, model=model) as started:
        yield started


@pytest.fixture(scope="module")
def single(tmp_path_factory, model):
    one = Single(tmp_path_factory.mktemp("single"), model)
    yield one
    one.close()


def talk(server, city, turns=3):
    """A conversation: its answers, and how many tokens of each further prompt were computed. (Of the
    first a single process knows what it has in common with others' within a block.)"""
    messages = [{"role": "system", "content": SYSTEM.replace("CITY", city)}]
    said, computed = [], []
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Question {turn}: where is the harbour?"})
        answer = server.chat(messages)
        said.append(answer["choices"][0]["message"]["content"])
        computed.append(answer["prompt_cache"]["tokens"]["computed"])
        messages.append({"role": "assistant", "content": said[-1]})
    return said, computed[1:]


def test_answers_equal_one_process_and_so_does_what_is_computed(three, single):
    for city in ("Oslo", "Vienna", "Lisbon", "Prague"):
        assert talk(three, city) == talk(single, city)


def test_the_official_client_whole_and_streamed(three, single):
    openai = pytest.importorskip("openai")
    ask = dict(model="tiny", temperature=0, max_tokens=8,
               messages=[{"role": "user", "content": "Where is the harbour of Kyoto?"}])
    texts = []
    for url in (three.url, f"http://127.0.0.1:{single.port}"):
        with openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0) as client:
            ask["model"] = client.models.list().data[0].id
            texts.append(client.chat.completions.create(**ask).choices[0].message.content)
            stream = client.chat.completions.create(stream=True, **ask)
            texts.append("".join(c.choices[0].delta.content or "" for c in stream if c.choices))
    assert len(set(texts)) == 1


@pytest.mark.parametrize("method, path, body", [
    ("GET", "/v1/models", None),
    ("GET", "/no/such/path", None),
    ("PUT", "/v1/chat/completions", {}),
    ("POST", "/v1/chat/completions", {"messages": []}),
    ("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": "Hm"}], "top_p": 7}),
    ("POST", "/v1/messages", {"messages": 3}),
    ("POST", "/api/chat", {"messages": "x"}),
    ("POST", "/tokenize", {"content": "harbour"}),
    ("GET", "/v1/responses/resp_unknown", None),
])  # fmt: skip
def test_errors_and_small_answers_pass_unchanged(three, single, method, path, body):
    status, headers, data = three.ask(method, path, body)
    wanted_status, wanted_headers, wanted = single.ask(method, path, body)
    assert (status, strip(data)) == (wanted_status, strip(wanted))
    for name in ("content-type", "allow"):
        assert headers[name] == wanted_headers[name]


def strip(data):
    read = json.loads(data)
    for model in read.get("data", []):
        model.pop("created", None)
    return read


def test_responses_are_found_where_they_are_remembered(three):
    first = three.json("/v1/responses", {"input": "Where is the tram?", "temperature": 0,
                                         "max_output_tokens": 8})  # fmt: skip
    for _ in range(4):
        status, _, data = three.ask("GET", f"/v1/responses/{first['id']}")
        assert (status, json.loads(data)["id"]) == (200, first["id"])
    again = three.json("/v1/responses", {"input": "And then?", "previous_response_id": first["id"],
                                         "temperature": 0, "max_output_tokens": 8})  # fmt: skip
    assert again["previous_response_id"] == first["id"]


def test_a_schema_is_known_to_all_and_modules_draw_requests(three, single):
    text = "The tram of Vienna costs six euros. " * 12
    schema = f'<schema name="trams"><module name="vienna">{text}</module><module name="oslo">It is free.</module></schema>'  # noqa: E501
    prompt = '<prompt schema="trams"><user><vienna/>What does it cost? {}</user></prompt>'
    for server in (three, single):
        server.json("/pml/schemas", {"schema": schema})
    before = three.metric("promptcache_modules_total", outcome="not_encoded")
    for i in range(6):
        body = {"temperature": 0, "max_tokens": 8, "prompt": prompt.format(i)}
        answers = [server.json("/pml/run", body) for server in (three, single)]
        said = [answer["choices"][0]["message"]["content"] for answer in answers]
        assert said[0] == said[1]
    # Encoded once where the schema was posted, with what stands in front of modules; not thrice.
    assert three.metric("promptcache_modules_total", outcome="not_encoded") - before <= 3
    assert three.ask("DELETE", "/pml/schemas/trams")[0] == 200
    for _ in range(6):
        three.json("/pml/run", {"prompt": prompt.format(0)}, expect=404)


def test_a_conversation_stays_with_its_replica(three):
    said, computed = talk(three, "Zermatt", 4)
    assert max(computed) < 120
    assert three.metric("promptcache_fleet_routed_total", outcome="held") >= 3


def test_metrics_are_of_all_replicas(three):
    page = three.ask("GET", "/metrics")[2].decode()
    assert three.metric("promptcache_fleet_replicas") == 3
    assert page.count("# TYPE promptcache_prompt_tokens_total counter") == 1
    stores = {f"node{i}" for i in range(3)}
    assert all(f'store="{store}"' in page for store in stores)
    assert page.count("\npromptcache_prompt_tokens_total{") == 3
