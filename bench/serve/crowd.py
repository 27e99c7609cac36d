#!/usr/bin/env python3
"""What do many connections cost, and what does HTTP, beside the library's own work?

    python3 bench/serve/crowd.py MODEL.gguf [--idle 1000] [--streams 64] [--repeat 5]
                                    [--only crowd requests decoding]

  idle      so many connections that have asked one thing each and stay open; the server's anonymous
            memory over what it was, a connection
  streams   so many clients at once, while those stay, each with a question of its own behind the
            same 300 tokens and 48 tokens of answer: until the first text, and from each to the next
  request   an answer of one token to a prompt that is all stored, streamed on an open connection: the
            time until its text less the library's own (prompt_cache.first_token_ms), which leaves
            HTTP, JSON, the template and its tokens; the time until its end less the library's, which
            has in it that the token is computed, too, to be kept; and GET /health as a mark of what
            any request takes, the client included
  decoding  a stream of 256 tokens: time from its first text to its last over the library's own
            time of the same steps (timings.predicted_ms); and its tokens a second beside
            `promptcache bench` in turns
"""

import argparse
import json
import subprocess
import threading
import time

from serving import Server, Streamed, add_options, connect, load_line, quantile, spread, write_json

SHARED = "The harbour lies in the south, and the tower stands on the hill above it. " * 16
ENDS = {"0": -100, "2": -100}  # SmolLM2's tokens that end an answer
STREAMED, DECODED = 48, 256    # tokens of answers


def body(text, tokens, **fields):
    return {"messages": [{"role": "user", "content": text}], "max_tokens": tokens, "temperature": 0,
            "logit_bias": ENDS} | fields


def get_health(connection):
    connection.request("GET", "/health")
    return connection.getresponse().read()


def idle(server, count):
    """The connections, and bytes of memory of each."""
    get_health(connect(server.url))
    before, held = server.memory()[0], [connect(server.url) for _ in range(count)]
    for connection in held:
        get_health(connection)
    return held, (server.memory()[0] - before) * 1024 / count


def streams(server, count):
    """Answers of clients that ask at once."""
    answers, start = [], threading.Barrier(count)

    def one(number):
        start.wait()
        answers.append(Streamed(server.url, body(f"{SHARED} What is number {number}?", STREAMED)))

    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == count, f"{count - len(answers)} were refused"
    return answers


def per_request(server, text, count):
    """Milliseconds, of requests less the library's own: until the text, until the end; of GET /health."""
    connection, rows = connect(server.url), []
    for i in range(count + 2):  # the first computes, the second finds
        answer = Streamed(server.url, body(text, 1), connection)
        begin = time.perf_counter()
        get_health(connection)
        health, own = (time.perf_counter() - begin) * 1e3, answer.prompt_cache["first_token_ms"]
        rows.append((answer.first_s * 1e3 - own, answer.took_s * 1e3 - own, health))
    connection.close()
    return [list(column) for column in zip(*rows[2:])]


def decode(server):
    """Tokens a second of a stream as a client sees it, and its time over the library's own."""
    answer = Streamed(server.url, body("Tell me all about the sea.", DECODED))
    seconds = sum(answer.gaps_s)
    steps = answer.usage["completion_tokens"] - 1
    return steps / seconds, seconds * 1e3 / answer.timings["predicted_ms"]


def bench_decode(a):
    """Tokens a second of promptcache bench."""
    out = subprocess.run([str(a.command), "bench", "-m", str(a.model), "-t", str(a.threads), "-p", "0",
                          "-n", str(DECODED), "-d", "0", "--cached", "0", "--sessions", "0", "-r",
                          "1", "--json", "-q"], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)["tests"][0]["avg_ts"]


def print_crowd(a, values):
    server = Server(a.command, a.model, a.threads, "--parallel", str(a.streams))
    Streamed(server.url, body(SHARED, 1))  # the model's pages are there, and the text's states
    held, values["idle_bytes"] = idle(server, a.idle)
    print(f"idle: {values['idle_bytes'] / 1024:.1f} KiB for each of {a.idle} connections")
    begin = time.perf_counter()
    answers = streams(server, a.streams)
    took = time.perf_counter() - begin
    first, gaps = [x.first_s for x in answers], [g for x in answers for g in x.gaps_s]
    values |= {"first_s": first, "gaps_s": gaps}
    for name, some in (("first text", first), ("gaps", gaps)):
        print(f"{a.streams} streams, {name}: half within {quantile(some, .5) * 1e3:.0f} ms, "
              f"95 % within {quantile(some, .95) * 1e3:.0f} ms")
    print(f"{a.streams} streams: {sum(x.usage['completion_tokens'] for x in answers) / took:.0f} "
          f"tokens a second together; {server.memory()[0] >> 10} MiB anonymous")
    print("connections that stayed:", sum(b"ok" in get_health(c) for c in held))
    for connection in held:
        connection.close()
    server.close()


def print_requests(a, values):
    server = Server(a.command, a.model, a.threads)
    for n_texts, n_tokens in ((1, 300), (8, 2200)):
        columns = per_request(server, SHARED * n_texts, a.requests)
        values[f"request_ms {n_tokens}"] = columns
        for what, some in zip(("until its text", "until its end", "GET /health"), columns):
            print(f"prompt of {n_tokens} tokens, over the library's, {what}: a tenth within "
                  f"{quantile(some, .1):.2f} ms, half within {quantile(some, .5):.2f}, 95 % within "
                  f"{quantile(some, .95):.2f}")
    server.close()


def print_decoding(a, values):
    server = Server(a.command, a.model, a.threads)
    decode(server)
    rows = values["decode"] = [(*decode(server), bench_decode(a)) for _ in range(a.repeat)]
    streamed, over, bench = zip(*rows)
    print(f"decoding, client's time over the library's: {spread(over, 1, 4)}")
    print(f"decoding, stream / promptcache bench: {spread([s / b for s, b in zip(streamed, bench)], 1, 3)}; "
          f"stream {spread(streamed, 1)}, bench {spread(bench, 1)} tokens/s")
    server.close()


PARTS = {"crowd": print_crowd, "requests": print_requests, "decoding": print_decoding}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--idle", type=int, default=1000)
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    a = parser.parse_args()
    print(load_line())
    values = {}
    for part in a.only:
        PARTS[part](a, values)
    print(load_line())
    write_json(a.json, values)


if __name__ == "__main__":
    main()
