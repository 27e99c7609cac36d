"""Conversations beside other work of an event loop's."""

import asyncio
import time

import pytest

CITIES = ("oslo", "vienna", "kyoto", "lisbon")


def test_two_hundred_sessions_and_a_loop_that_goes_on(guide, ask):
    prompts = [guide.prompt(ask(city, f"What is {i}?")) for i in range(50) for city in CITIES]
    alone = [prompt.generate(max_tokens=8) for prompt in prompts]
    ticks = []

    async def tick():
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            ticks.append(time.monotonic() - before)

    async def answer(prompt):
        with prompt.session(max_tokens=8) as session:
            return await session.atext()

    async def main():
        ticking = asyncio.create_task(tick())
        answers = await asyncio.gather(*map(answer, prompts))
        ticking.cancel()
        return answers

    assert asyncio.run(main()) == alone
    assert len(ticks) > 3  # the loop went on meanwhile


def test_a_cancelled_task_loses_no_token(guide, ask):
    whole = guide.prompt(ask()).generate(max_tokens=16)

    async def main(pause):
        said = []
        with guide.prompt(ask()).session(max_tokens=16) as session:

            async def part():
                async for text in session:
                    said.append(text)

            task = asyncio.create_task(part())
            await asyncio.sleep(pause)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return "".join(said) + await session.atext()

    for pause in (0, 0.0005, 0.001, 0.002):
        assert asyncio.run(main(pause)) == whole


def test_an_error_is_the_session_s_own(guide, ask, engine):
    async def main():
        good = guide.prompt(ask()).session(max_tokens=4)
        bad = engine.plain().text("x").session(max_tokens=4, bias={i: float("-inf") for i in range(engine.facts.vocab_size)})
        results = await asyncio.gather(good.atext(), bad.atext(), return_exceptions=True)
        good.close()
        bad.close()
        return results

    text, error = asyncio.run(main())
    assert text == guide.prompt(ask()).generate(max_tokens=4)
    assert isinstance(error, Exception)


def test_append_and_chat(engine):
    prompt = engine.schema("<schema name='t'><system>Guide.</system></schema>")

    async def main():
        with prompt.messages([{"role": "user", "content": "Hello"}]).session(max_tokens=4) as session:
            await session.atext()
            await session.aappend("And?")
            await session.atext()
        return await engine.achat([{"role": "user", "content": "Hello"}], max_tokens=4)

    assert asyncio.run(main()).stats.generated_tokens <= 4


def test_one_token_is_waited_for_once(guide, ask):
    async def main():
        with guide.prompt(ask()).session(max_tokens=4) as session:
            results = await asyncio.gather(
                session.atext(), session.atext(), return_exceptions=True
            )
            return results

    results = asyncio.run(main())
    assert any(isinstance(r, RuntimeError) for r in results)
