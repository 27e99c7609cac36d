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

    async def main(n):
        said = []
        with guide.prompt(ask()).session(max_tokens=16) as session:

            async def part():
                async for text in session:
                    said.append(text)

            task = asyncio.create_task(part())
            while len(said) < n:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return "".join(said) + await session.atext()

    for n in (0, 1, 2, 5):
        assert asyncio.run(main(n)) == whole


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


def test_a_session_closed_while_it_is_waited_for_spoils_no_other(guide, ask):
    whole = guide.prompt(ask()).generate(max_tokens=8)

    async def main():
        closed, other = (guide.prompt(ask()).session(max_tokens=8) for _ in range(2))
        waiting = asyncio.gather(closed.atext(), other.atext(), return_exceptions=True)
        await asyncio.sleep(0)
        closed.close()
        results = await waiting
        other.close()
        return results

    results = asyncio.run(main())
    assert results[1] == whole


def test_an_append_that_is_cancelled_twice(engine):
    schema = engine.schema("<schema name='t'><system>Guide.</system></schema>")
    prompt = schema.messages([{"role": "user", "content": "Hello"}])
    more = " ".join(str(i) for i in range(400))

    async def main(turns):
        with prompt.session(max_tokens=4) as session:
            await session.atext()
            task = asyncio.create_task(session.aappend(more))
            for _ in range(2):
                for _ in range(turns):  # of the loop: well before it is appended
                    await asyncio.sleep(0)
                task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await session.atext()

    for turns in range(1, 11):
        asyncio.run(main(turns))


def test_what_was_ahead_is_no_part_of_the_next_answer(engine):
    schema = engine.schema("<schema name='t'><system>Guide.</system></schema>")
    prompt = schema.messages([{"role": "user", "content": "What is the flag of Oslo?"}])
    with prompt.session(max_tokens=8) as session:
        session.next()
        session.append("And Vienna?")
        want = session.text()
    with prompt.session(max_tokens=8) as session:
        first = session.next()
        session.ahead.append(first)
        session.append("And Vienna?")
        assert session.text() == want


def test_a_child_of_fork_gets_an_error_and_does_not_wait(guide, ask):
    import os

    async def answer():
        with guide.prompt(ask()).session(max_tokens=2) as session:
            return await asyncio.wait_for(session.atext(), 20)

    asyncio.run(answer())
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(answer())
            said = "computed"
        except BaseException as error:
            said = repr(error)
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        assert b"fork" in file.read()
    os.waitpid(child, 0)
