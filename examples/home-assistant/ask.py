#!/usr/bin/env python3
"""Asks a house twice, with the tools that a home automation offers a model: the second time two of
them have changed places and one is new, once the server has encoded the first ones. Prints for each how long the answer took to begin, how many
tokens of the prompt came from the store, and how many of its modules were encoded for it.

    ask.py [--url URL] [--key KEY] [--mode MODE] [--first N] [QUESTION]
"""
import argparse
import json
import pathlib
import re
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = 120  # seconds
SYSTEM = "You look after a house. Call a function where one helps, and answer in one sentence."


def ask(arguments, tools):
    """The answer's text, the names of what it calls, the seconds until it began, and its usage."""
    body = {"messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": arguments.question}],
            "tools": tools, "prompt_cache": {"mode": arguments.mode, "repair": "none"}, "temperature": 0, "max_tokens": 64,
            "stream": True, "stream_options": {"include_usage": True}}
    headers = {"content-type": "application/json"}
    if arguments.key:
        headers["authorization"] = "Bearer " + arguments.key
    request = urllib.request.Request(arguments.url + "/chat/completions", json.dumps(body).encode(), headers)
    text, calls, began, last, start = "", [], None, {}, time.perf_counter()
    with urllib.request.urlopen(request) as response:
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            began = began or time.perf_counter() - start
            last = json.loads(line[len("data: "):])
            for choice in last.get("choices", []):
                text += choice["delta"].get("content") or ""
                calls += [call["function"]["name"] for call in choice["delta"].get("tool_calls", [])]
    return text, calls, began, last


def wait_until_encoded(url):
    """As long as the server encodes what it was sent, while nobody waits for it."""
    page = f"{url.removesuffix('/v1')}/metrics"
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with urllib.request.urlopen(page) as response:
            waiting = re.search(r"^promptcache_modules_waiting (\d+)", response.read().decode(), re.MULTILINE)
        if not waiting or int(waiting[1]) == 0:
            return
        time.sleep(0.1)


def row(title, answer):
    text, calls, began, last = answer
    prompt = last["usage"]["prompt_tokens"]
    cached = last["usage"]["prompt_tokens_details"]["cached_tokens"]
    reuse = last["prompt_cache"]
    print(f"{title:<20}{began * 1000:9.0f} ms {prompt:6} tokens: {cached:6} cached, {prompt - cached:6} computed; "
          f"{reuse['modules']['encoded']:2} of {reuse['modules']['used']:2} modules encoded, mode {reuse['used']}")
    if calls:
        print("    calls " + ", ".join(calls))
    print("    " + json.dumps(text))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8080/v1", help="of the server, as clients of OpenAI have it")
    parser.add_argument("--key", default="", help="where the server was given keys")
    parser.add_argument("--mode", default="tools", help="prefix, tools or off")
    parser.add_argument("--first", type=int, default=30, metavar="N", help="use the first N tools alone")
    parser.add_argument("question", nargs="?", default="It is getting dark and cold in the study.")
    arguments = parser.parse_args()
    *tools, new = json.loads((HERE / "tools.json").read_text())[:arguments.first]
    changed = [tools[1], tools[0], *tools[2:], new]
    try:
        row(f"{len(tools)} tools", ask(arguments, tools))
        wait_until_encoded(arguments.url)
        row("2 swapped, 1 added", ask(arguments, changed))
    except urllib.error.HTTPError as error:
        parser.exit(1, f"ask.py: the server answers {error.code}: {error.read().decode()}\n")
    except OSError as error:
        parser.exit(1, f"ask.py: {arguments.url} cannot be asked: {error}\n")


if __name__ == "__main__":
    main()
