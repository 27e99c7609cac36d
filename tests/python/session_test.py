"""Answers, and what goes on behind them."""

import threading

import numpy
import pytest

import promptcache

TALK = "<schema name='talk'><system>You are a guide.</system></schema>"


def test_text_and_tokens_are_the_same_answer(guide, ask):
    prompt = guide.prompt(ask())
    with prompt.session(max_tokens=12) as session:
        text = session.text()
        assert session.stats.finish == "length"
        assert session.stats.generated_tokens == 12
    with prompt.session(max_tokens=12) as session:
        tokens = list(session.tokens())
    assert "".join(token.text for token in tokens) == text
    assert prompt.generate(max_tokens=12) == text


def test_modules_change_when_an_answer_comes_and_not_which(guide, ask):
    with guide.prompt(ask()).session(max_tokens=12) as session:
        reused = session.text()
        assert session.stats.cached_tokens > session.stats.computed_tokens
    assert guide.prompt(ask()).generate(max_tokens=12, no_reuse=True) == reused


def test_modules_together_are_exact_from_then_on(root, tmp_path):
    pml = "<schema name='s'>Be kind. <module name='a'>The tram is red. </module><module name='b'>A bus.</module></schema>"
    with promptcache.Engine(root / "models/city-guide", cache_dir=tmp_path, threads=1) as other:
        schema = other.schema(pml)
        ask = "<prompt schema='s'><a/><b/>Why?</prompt>"
        assert schema.prompt(ask).counts.approximate_tokens > 0
        assert schema.prompt(ask).encode(together=True).modules_encoded == 2  # and the text before
        assert schema.prompt(ask).counts.approximate_tokens == 0
        assert schema.prompt(ask).counts.modules_missing == 0
        assert schema.prompt("<prompt schema='s'><a/>Why?</prompt>").encode(together=True).modules == 0


def test_zero_is_meant_where_it_is_given(guide, ask):
    with guide.prompt(ask()).session(max_tokens=0) as session:
        assert session.text() == ""
        assert session.stats.finish == "length"


def test_logits_are_a_view_that_cannot_be_written(guide, ask, engine):
    with guide.prompt(ask()).session() as session:
        session.prefill()
        logits = session.logits()
        assert logits.shape == (engine.facts.vocab_size,) and logits.dtype == numpy.float32
        likeliest = int(logits.argmax())
        with pytest.raises(ValueError):
            logits[0] = 0
        assert session.next().id == likeliest
        (drawn, logprob), *top = session.logprobs(top=3)
        assert drawn == likeliest == top[0][0] and logprob == top[0][1] <= 0
        assert sorted((p for _, p in top), reverse=True) == [p for _, p in top]


def test_bias_forbids_a_token(guide, ask):
    with guide.prompt(ask()).session(max_tokens=1) as session:
        first = session.next().id
    with guide.prompt(ask()).session(max_tokens=1, bias={first: float("-inf")}) as session:
        assert session.next().id != first


def test_stop_strings_end_an_answer(guide, ask):
    whole = guide.prompt(ask()).generate(max_tokens=20)
    word = whole.split()[3]
    with guide.prompt(ask()).session(max_tokens=20, stop=[word]) as session:
        text = session.text()
        assert session.stats.finish == "stop"
    assert text == whole[: whole.index(word)]


def test_seeds_repeat(guide, ask):
    def draw(seed):
        return guide.prompt(ask()).generate(max_tokens=12, temperature=5.0, seed=seed)

    assert draw(7) == draw(7)
    assert len({draw(seed) for seed in range(4)}) > 1


def test_fork_and_rewind(guide, ask):
    with guide.prompt(ask()).session(max_tokens=12) as session:
        session.prefill()
        begin = session.position
        first = session.next()
        with session.fork() as other:
            rest = session.text()
            assert other.text() == rest
        session.rewind(begin)
        assert session.next() == first
        assert session.text() == rest


def test_append_goes_on_without_computing_again(engine):
    prompt = engine.schema(TALK).messages([{"role": "user", "content": "Hello"}])
    with prompt.session(max_tokens=4) as session:
        session.text()
        session.append("And Oslo?")
        assert session.stats.computed_tokens < 20
        assert session.stats.cached_tokens > 0
        session.text()
        session.append([{"role": "user", "content": ["And ", "Vienna?"]}])
        session.text()


def test_keep_serves_the_next_prompt(engine, guide, ask):
    text = "The harbour of Oslo is blue. " * 30
    with engine.plain().text(text).session(max_tokens=1) as session:
        session.text()
        assert session.keep() > 64
    with engine.plain().text(text + "And then?").session(max_tokens=1) as session:
        session.prefill()
        assert session.stats.chained_tokens > 64


def test_what_a_callback_raises_comes_out(engine):
    class Stop(Exception):
        pass

    def stop(done, total):
        raise Stop

    text = " ".join(str(i) for i in range(500))
    with engine.plain().text(text).session(max_tokens=1, progress=stop, no_reuse=True) as session:
        with pytest.raises(Stop):
            session.prefill()


def test_cancel_from_another_thread(guide, ask):
    with guide.prompt(ask()).session(max_tokens=12) as session:
        first = session.next()
        threading.Thread(target=session.cancel).run()
        with pytest.raises(promptcache.Cancelled):
            session.next()
        assert first.text + session.text() == guide.prompt(ask()).generate(max_tokens=12)


def test_a_closed_session_says_so(guide, ask):
    session = guide.prompt(ask()).session()
    session.close()
    session.close()
    with pytest.raises(ValueError, match="closed"):
        session.next()
    assert "closed" in repr(session)


def test_an_unknown_option_is_named(guide, ask):
    with pytest.raises(TypeError, match="temprature"):
        guide.prompt(ask()).session(temprature=1.0)
    with pytest.raises(ValueError, match="slide"):
        guide.prompt(ask()).session(overflow="scroll")


def test_ten_thousand_sessions_leak_nothing(guide, ask):
    import resource

    prompt = guide.prompt(ask())

    def run(n):
        for _ in range(n):
            with prompt.session(max_tokens=1) as session:
                session.next()

    run(1000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(9000)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 4096  # KiB: less than half a byte in a kilobyte of what each uses


def test_what_options_point_to_lives_as_long_as_c_reads_it(guide, ask):
    whole = guide.prompt(ask()).generate(max_tokens=20)
    word = whole.split()[3]
    with guide.prompt(ask()).session(max_tokens=20) as session:
        session.set_answer(stop=[word], max_tokens=20)
        assert session.text() == whole[: whole.index(word)]


def test_a_mask_lives_as_long_as_the_session(engine, guide, ask):
    from promptcache._library import ffi

    calls = []

    def mask(user, session, position, allowed, n_words):
        calls.append(position)
        return 0

    with guide.prompt(ask()).session(
        max_tokens=4, mask=ffi.callback("pc_token_mask", mask, error=1)
    ) as session:
        with session.fork() as other:
            session.close()
            other.text()
    assert len(calls) == 4


def test_closing_waits_for_the_call_that_another_thread_is_in(engine):
    text = "Oslo is blue. " * 400
    begun = threading.Event()
    session = engine.plain().text(text).session(
        max_tokens=1, no_reuse=True, progress=lambda done, total: begun.set()
    )
    thread = threading.Thread(target=session.prefill)
    thread.start()
    assert begun.wait(30)
    session.close()
    thread.join()
    with pytest.raises(ValueError, match="closed"):
        session.next()


def test_forks_in_two_threads_raise_what_was_raised_in_theirs(engine):
    class Stop(Exception):
        pass

    stopped = threading.local()

    def progress(done, total):
        if getattr(stopped, "wanted", False):
            raise Stop

    text = "Oslo is blue. " * 400
    session = engine.plain().text(text).session(max_tokens=1, no_reuse=True, progress=progress)
    outcomes = {True: [], False: []}

    def run(wanted):
        stopped.wanted = wanted
        for _ in range(10):
            with session.fork() as fork:
                try:
                    fork.prefill()
                    outcomes[wanted].append(None)
                except Exception as error:
                    outcomes[wanted].append(type(error))

    threads = [threading.Thread(target=run, args=(wanted,)) for wanted in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session.close()
    assert outcomes == {True: [Stop] * 10, False: [None] * 10}


def test_a_nul_is_refused_where_c_would_end_a_text(engine, guide, ask):
    for wrong in (
        lambda: guide.prompt(ask()).session(stop=["a\0b"]),
        lambda: engine.in_namespace("a\0b"),
        lambda: engine.choices(["yes\0no"]),
        lambda: promptcache.Engine("models\0x"),
        lambda: guide.prompt(ask()).session(client="a\0b"),
    ):
        with pytest.raises(ValueError, match="NUL"):
            wrong()


def test_an_answer_is_not_lost_where_it_cannot_be_kept(root, tmp_path):
    model = root / "models/city-guide"
    promptcache.Engine(model, cache_dir=tmp_path).close()
    with promptcache.Engine(model, cache_dir=tmp_path, cache="read-only") as engine:
        assert engine.chat([{"role": "user", "content": "Hello"}], max_tokens=2).text is not None


def test_precisions_are_those_of_the_library(root, tmp_path):
    for precision in ("fast", "exact", "deterministic"):
        promptcache.Engine(
            root / "models/city-guide", cache_dir=tmp_path, precision=precision
        ).close()
    with pytest.raises(ValueError, match="deterministic"):
        promptcache.Engine(root / "models/city-guide", precision="precise")
