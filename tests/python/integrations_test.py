"""The engine behind the interfaces of real packages, where scripts/python --all put them."""

import asyncio
import math

import pytest

import calling_model  # conftest.py says where it is

HELLO = "What is the flag of Oslo?"


def alone(engine, n):
    return engine.write_chat([{"role": "user", "content": HELLO}]).generate(max_tokens=n)


def test_langchain(engine):
    pytest.importorskip("langchain_core")
    from langchain_core.messages import HumanMessage, SystemMessage

    from promptcache.integrations.langchain import ChatPromptcache

    model = ChatPromptcache(model=engine, max_tokens=8)
    reply = model.invoke(HELLO)
    assert reply.text == alone(engine, 8)
    assert "".join(chunk.text for chunk in model.stream(HELLO)) == reply.text
    assert asyncio.run(model.ainvoke(HELLO)).text == reply.text
    assert reply.usage_metadata["input_token_details"]["cache_read"] >= 0
    document = {"type": "text", "text": "The flag of Oslo is blue. " * 20, "module": True}
    turns = [SystemMessage("You are a guide."), HumanMessage([document, {"type": "text", "text": "Hm?"}])]
    model.invoke(turns)
    other = [turns[0], HumanMessage([document, {"type": "text", "text": "And what else?"}])]
    assert model.invoke(other).usage_metadata["input_token_details"]["cache_read"] > 100


def test_langchain_calls_tools(caller):
    pytest.importorskip("langchain_core")
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool

    from promptcache.integrations.langchain import ChatPromptcache

    @tool
    def now() -> str:
        """The time."""
        return "noon"

    model = ChatPromptcache(model=caller, max_tokens=16)
    with_tools = model.bind_tools([now])
    reply = with_tools.invoke(HELLO)
    assert [(call["name"], call["args"]) for call in reply.tool_calls] == [("now", {})]
    assert (reply.content, reply.invalid_tool_calls) == ("", [])
    assert reply.response_metadata["finish_reason"] == "tool_calls"
    # Streamed, and in a loop, it is the same call.
    streamed = sum_of(with_tools.stream(HELLO))
    assert [(call["name"], call["args"]) for call in streamed.tool_calls] == [("now", {})]
    assert [call["name"] for call in asyncio.run(with_tools.ainvoke(HELLO)).tool_calls] == ["now"]
    # Its result goes back, and the model says what it makes of it.
    (call,) = reply.tool_calls
    result = now.invoke(call)
    assert isinstance(result, ToolMessage)
    assert with_tools.invoke([HumanMessage(HELLO), reply, result]).text == calling_model.SAID
    # Whoever listens hears all of the text, what is certain at its end alone, too.
    heard = []

    class Listener(BaseCallbackHandler):
        def on_llm_new_token(self, token, **_):
            heard.append(token)

    begun = model.bind_tools([now], max_tokens=3)  # of what may be a call
    streamed = sum_of(begun.stream(HELLO, config={"callbacks": [Listener()]}))
    assert "".join(heard) == streamed.text == calling_model.CALL[:3]
    # Not read where they are not wanted; held to a call where one is.
    assert model.bind_tools([now], tool_choice="none").invoke(HELLO).text == calling_model.CALL
    for choice in ("any", True, "now", {"type": "function", "function": {"name": "now"}}):
        assert [c["name"] for c in model.bind_tools([now], tool_choice=choice).invoke(HELLO).tool_calls] == ["now"]
    # An answer that ends within a call has none that can be run.
    cut_off = model.bind_tools([now], max_tokens=len("~now{"))
    for cut in (cut_off.invoke(HELLO), sum_of(cut_off.stream(HELLO))):
        assert (cut.tool_calls, [c["name"] for c in cut.invalid_tool_calls]) == ([], ["now"])


def test_langchain_structured_output(caller):
    pytest.importorskip("langchain_core")
    from pydantic import BaseModel

    from promptcache.integrations.langchain import ChatPromptcache

    class now(BaseModel):  # noqa: N801: the one tool that this model calls
        """The time."""

    model = ChatPromptcache(model=caller, max_tokens=16)
    assert isinstance(model.with_structured_output(now).invoke(HELLO), now)


def sum_of(chunks):
    whole = None
    for chunk in chunks:
        whole = chunk if whole is None else whole + chunk
    return whole


def test_llama_index(engine):
    pytest.importorskip("llama_index.core")
    from llama_index.core.llms import ChatMessage

    from promptcache.integrations.llama_index import PromptcacheLLM

    model = PromptcacheLLM(model=engine, max_tokens=8)
    said = [ChatMessage(role="user", content=HELLO)]
    assert model.chat(said).message.content == alone(engine, 8)
    assert "".join(part.delta for part in model.stream_chat(said)) == alone(engine, 8)
    assert model.complete("The flag of").text == engine.plain().text("The flag of").generate(max_tokens=8)
    assert model.metadata.context_window == engine.facts.context_tokens


def test_llm(engine, root, tmp_path, monkeypatch):
    pytest.importorskip("llm")
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PROMPTCACHE_MODELS", f"guide={root / 'models/city-guide'}")
    import llm

    from promptcache.integrations import llm as plug_in

    registered = []
    plug_in.register_models(registered.append)
    (model,) = registered
    assert model.model_id == "promptcache/guide"
    talk = model.conversation()
    assert talk.prompt(HELLO, max_tokens=8).text() == alone(engine, 8)
    assert isinstance(talk.prompt("And?", max_tokens=2).text(), str)
    monkeypatch.setenv("PROMPTCACHE_MODELS", "guide")
    with pytest.raises(llm.ModelError, match="NAME=PATH"):
        plug_in.named_models()


def test_lm_eval(engine):
    pytest.importorskip("lm_eval")
    from lm_eval.api.instance import Instance

    from promptcache.integrations.lm_eval import PromptcacheLM

    model = PromptcacheLM(engine)

    def asked(*arguments):
        return Instance(request_type="loglikelihood", doc={}, arguments=arguments, idx=0)

    context, continuation = "The museum of Tokyo opens", " at ten."
    ((score, greedy),) = model.loglikelihood([asked(context, continuation)], disable_tqdm=True)
    tokens = engine.tokenize(context + continuation, bos=True)
    n = len(engine.tokenize(context, bos=True))
    expected, likeliest = 0.0, True
    for end in range(n, len(tokens)):  # by the logits behind each beginning, one by one
        with engine.plain().tokens(tokens[:end]).session(max_tokens=1, no_reuse=True) as session:
            session.prefill()
            logits = session.logits().astype("float64")
            expected += logits[tokens[end]] - logits.max() - math.log(
                sum(math.exp(x - logits.max()) for x in logits)
            )
            likeliest = likeliest and int(logits.argmax()) == tokens[end]
    assert score == pytest.approx(expected, abs=0.02) and greedy == likeliest
    long_text = context * 500  # more than a window
    (rolling,) = model.loglikelihood_rolling([asked(long_text)], disable_tqdm=True)
    assert rolling < score
    (text,) = model.generate_until([asked(context, {"until": ["."], "max_gen_toks": 8})], disable_tqdm=True)
    assert "." not in text
