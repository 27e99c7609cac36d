#!/usr/bin/env python3
"""How much of each request does an agent's server compute, beside what the request has that is new?

    python3 bench/serve/replay.py MODEL.gguf [--loops DIR] [--only NAME] [--peer NAME=URL ...]
        [--thinking-peer NAME=URL ...] [--pause 0.5] [-- OPTION...]

The loops of bench/serve/loops were recorded from unmodified clients (record_loops.py). Of each, a server
with an empty store is sent the requests in order, their bodies as they were recorded but for "stream",
so that the first token has a time; in the middle it is restarted with its store. Between requests
--pause seconds pass and what the server prepares meanwhile ends, as while a tool runs; 0 waits for
nothing. A request is "new" from where its tokens differ from those of all requests of the loop before
it and of the answers that the server gave to them, each as the template writes it in a history: where
an answer is not the recorded one, the rest of the recorded one is new; what a template writes between
an answer and a user's next message is not. A server of --peer is asked the
same in the same run, one of --thinking-peer the loops whose template thinks (llama-server with
--chat-template-file bench/serve/thoughts.jinja); neither is restarted, and their answers end a
little behind the length of ours. Printed: a table, and the turns that computed more than what was new
and 16.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

from next_turns import waiting
from serving import HERE, Server, add_options, connect, events, load_line, post, write_json

ALLOWED = 16     # tokens that a turn may compute beyond those that are new
LONGEST = 1024   # tokens of an answer
LONGER = 16      # tokens of a peer's answer beyond ours, so that it does not ramble on
COLUMNS = ["loop", "server", "turns", "prompt at the end", "computed, median (most)", "new, median",
           "most beyond new", f"within new + {ALLOWED}", "behind the restart", "first token, ms",
           "answers as recorded"]


class Answer:
    """A streamed answer, of OpenAI's chats or Anthropic's messages."""

    def __init__(self, url, path, body):
        self.text, self.calls, self.usage, self.timings, self.first_s = "", [], {}, {}, None
        body = body | {"stream": True}
        if "messages" not in path:
            body |= {"stream_options": {"include_usage": True}}
        connection, start = connect(url), time.perf_counter()
        for event in events(post(connection, body, path)):
            if self.take(event) and self.first_s is None:
                self.first_s = time.perf_counter() - start
        connection.close()
        self.first_s = self.first_s or time.perf_counter() - start

    def take(self, event):
        """Whether it brought something that the model wrote."""
        assert "error" not in event, event
        self.timings = event.get("timings") or self.timings
        self.usage |= event.get("usage") or event.get("message", {}).get("usage") or {}
        if "choices" in event:
            return any([self.chunk(choice["delta"]) for choice in event["choices"]])
        return self.block(event)

    def chunk(self, delta):
        self.text += delta.get("content") or ""
        for part in delta.get("tool_calls") or []:
            if part["index"] == len(self.calls):
                self.calls.append(call(part.get("id"), part["function"]["name"], ""))
            self.calls[part["index"]]["function"]["arguments"] += part["function"].get("arguments") or ""
        return any(delta.get(key) for key in ("content", "tool_calls", "reasoning_content"))

    def block(self, event):
        begun, delta = event.get("content_block", {}), event.get("delta", {})
        if begun.get("type") == "tool_use":
            self.calls.append(call(begun["id"], begun["name"], ""))
        if delta.get("type") == "input_json_delta":
            self.calls[-1]["function"]["arguments"] += delta["partial_json"]
        self.text += delta.get("text", "")
        return begun.get("type") == "tool_use" or any(delta.get(key) for key in ("text", "thinking"))

    def message(self):
        message = {"role": "assistant", "content": self.text}
        return message | {"tool_calls": self.calls} if self.calls else message

    def counted(self):
        """Tokens of its prompt, and how many of them were computed."""
        if "input_tokens" in self.usage:
            read = self.usage.get("cache_read_input_tokens", 0)
            computed = self.usage["input_tokens"] + self.usage.get("cache_creation_input_tokens", 0)
            return computed + read, computed
        details = self.usage.get("prompt_tokens_details") or {}
        cached = details.get("cached_tokens", self.timings.get("cache_n", 0))
        return self.usage["prompt_tokens"], self.usage["prompt_tokens"] - cached


def call(identity, name, arguments):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def text_of(content):
    return content if isinstance(content, str) else "\n\n".join(block["text"] for block in content)


def chat_of(path, body):
    """The messages and tools of a request as those of OpenAI's chat, for /apply-template."""
    if "messages" not in path:
        return {key: body[key] for key in ("messages", "tools") if key in body}
    messages = [{"role": "system", "content": text_of(body["system"])}] if "system" in body else []
    for message in body["messages"]:
        messages += messages_of(message)
    tools = [{"type": "function", "function": {"name": tool["name"], "description": tool["description"],
                                               "parameters": tool["input_schema"]}}
             for tool in body.get("tools", [])]
    return {"messages": messages} | ({"tools": tools} if tools else {})


def messages_of(message):
    """A message of Anthropic's as those of a chat: results, then texts with calls."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks:
        if block["type"] == "tool_result":
            yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": text_of(block["content"])}
    texts = [block for block in blocks if block["type"] == "text"]
    calls = [call(block["id"], block["name"], json.dumps(block["input"]))
             for block in blocks if block["type"] == "tool_use"]
    if texts or calls:
        said = {"role": message["role"], "content": text_of(texts)}
        yield said | {"tool_calls": calls} if calls else said


def tokens_of(url, chat):
    connection = connect(url)
    text = json.load(post(connection, chat, "/apply-template"))["prompt"]
    tokens = json.load(post(connection, {"content": text}, "/tokenize"))["tokens"]
    connection.close()
    return tokens


def common(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def said(message):
    calls = [(c["function"]["name"], c["function"]["arguments"]) for c in message.get("tool_calls") or []]
    return (message.get("content") or "").strip(), calls


def shortened(body, limit):
    key = "max_completion_tokens" if "max_completion_tokens" in body else "max_tokens"
    return body | {key: min(body.get(key, limit), limit)}


def turn(url, request, writer, seen, limit):
    """A line of what one request came to; what has been seen grows. Writer is the server that renders."""
    chat = chat_of(request["path"], request["body"])
    tokens = tokens_of(writer, chat)
    known = max((common(tokens, other) for other in seen), default=0)
    answer = Answer(url, request["path"], shortened(request["body"], limit))
    history = chat | {"messages": [*chat["messages"], answer.message(), {"role": "user", "content": "?"}]}
    seen += [tokens, tokens_of(writer, history)]
    prompt, computed = answer.counted()
    return {"prompt": prompt, "rendered": len(tokens), "computed": computed, "new": len(tokens) - known,
            "first_ms": answer.first_s * 1e3, "answer": answer.message(),
            "answer_tokens": answer.usage.get("completion_tokens", answer.usage.get("output_tokens"))}


def replay(loop, url_of, server, between, limits):
    lines, seen = [], []
    for number, (request, limit) in enumerate(zip(loop["requests"], limits)):
        between(number)
        lines.append(turn(url_of(), request, server.url, seen, limit))
    return lines


def reproduced(loop, lines):
    """Of the answers but the last, those that the next request has."""
    chats = [chat_of(request["path"], request["body"]) for request in loop["requests"]]
    same = [any(said(message) == said(line["answer"]) for message in chat["messages"])
            for line, chat in zip(lines, chats[1:])]
    return f"{sum(same)} of {len(same)}"


def replays(loop, a, peers):
    """Name and lines of our server and of the peers, whose prompts it renders as well."""
    options = ["--chat-template", str(HERE / loop["template"])] if loop.get("template") else []
    server = Server(a.command, a.model, a.threads, "--any-model", *options, *a.options)

    def between(number):
        if a.pause:
            time.sleep(a.pause)
            while waiting(server):
                time.sleep(0.1)
        if number == len(loop["requests"]) // 2:
            server.restart()

    lines = replay(loop, lambda: server.url, server, between, [LONGEST] * len(loop["requests"]))
    yield "promptcache", lines
    for name, url in peers:
        yield name, replay(loop, lambda: url, server, lambda number: time.sleep(a.pause),
                           [line["answer_tokens"] + LONGER for line in lines])
    server.close()


def row(name, server, loop, lines):
    computed, new = [line["computed"] for line in lines], [line["new"] for line in lines]
    beyond = [c - n for c, n in zip(computed, new)]
    middle = lines[len(lines) // 2] if server == "promptcache" else None
    behind = f"{middle['computed']} of {middle['new']} new" if middle else "not restarted"
    first = [line["first_ms"] for line in lines[1:]]
    return [name, server, len(lines), lines[-1]["prompt"],
            f"{statistics.median(computed[1:]):.0f} ({max(computed[1:])})",
            f"{statistics.median(new[1:]):.0f}", max(beyond), f"{sum(b <= ALLOWED for b in beyond)}", behind,
            f"{statistics.median(first):.0f} ({max(first):.0f})", reproduced(loop, lines)]


def exceeding(name, server, lines):
    for number, line in enumerate(lines, 1):
        if line["computed"] > line["new"] + ALLOWED:
            yield f"{name}, {server}, turn {number}: {line['computed']} computed, {line['new']} new"


def table(rows):
    return "\n".join("| " + " | ".join(map(str, cells)) + " |"
                     for cells in [COLUMNS, ["--"] * len(COLUMNS), *rows])


def pairs(listed):
    return [peer.split("=", 1) for peer in listed]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--loops", type=Path, default=HERE / "loops")
    parser.add_argument("--only", help="the loop of this name alone")
    parser.add_argument("--pause", type=float, default=0.5, help="seconds before each request")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=URL")
    parser.add_argument("--thinking-peer", action="append", default=[], metavar="NAME=URL")
    parser.add_argument("options", nargs="*", help="the server's other options, behind --")
    a = parser.parse_args()
    print(load_line(), flush=True)
    rows, beyond, values = [], [], {}
    for path in sorted(a.loops.glob(f"{a.only or '*'}.json")):
        loop = json.loads(path.read_text())
        for server, lines in replays(loop, a, pairs(a.thinking_peer if loop.get("template") else a.peer)):
            values.setdefault(path.stem, {})[server] = lines
            rows.append(row(path.stem, server, loop, lines))
            beyond += exceeding(path.stem, server, lines)
            print(table(rows[-1:]), flush=True)
    print(table(rows), "", *(beyond or ["No turn computed more."]), load_line(), sep="\n")
    write_json(a.json, values)


if __name__ == "__main__":
    main()
