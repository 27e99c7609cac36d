#!/usr/bin/env python3
"""How soon does an answer begin behind thirty tools, two of which have changed places?

    python3 bench/serve/tools_ttft.py MODEL.gguf [--repeat 5] [--peer http://127.0.0.1:PORT]

A house's thirty tools (about 5,400 tokens), a system message and a short question:

  first    nothing is stored
  again    the same tools, another question
  changed  two tools in each other's places, another one behind them all

each once the server has encoded what came before, while nobody waits, with prompt_cache's mode tools and prefix, and the last with off, each mode by a server with a store
of its own; they take turns, and each repetition has tools that were never seen. Time from the
request to the first event of the stream that has text; and the processor time that the server took
from the request to the end of the answer, which says more where others use the machine. --peer: another server of OpenAI's protocol takes part, such as
llama.cpp's, started with the same file, threads and template:

    llama-server -m MODEL.gguf -t 2 --jinja --chat-template-file bench/serve/tools.jinja --port PORT
"""

import argparse
import time

import home
from serving import TEMPLATE, Server, Streamed, add_options, load_line, spread, write_json

MODES = ("tools", "prefix", "off")
STEPS = ("first", "again", "changed")
COMPUTES_ALL = "off"  # whatever was asked before


def requests(number):
    listed = home.tools(number)
    return {"first": home.body(listed, home.QUESTIONS[0]),
            "again": home.body(listed, home.QUESTIONS[1]),
            "changed": home.body(home.changed(listed, number), home.QUESTIONS[2])}


def measure(urls, servers, repeat, number):
    """{way: {step: [answers]}}; an answer has cpu_s where its server is ours."""
    runs = {way: {step: [] for step in STEPS} for way in urls}
    for turn in range(repeat):
        bodies = requests(number + turn)
        ways = list(urls)
        for step in STEPS:
            ways = ways[1:] + ways[:1]
            for way in ways:
                if way == COMPUTES_ALL and step != "changed":
                    continue
                mode = {} if way == "peer" else {"prompt_cache": {"mode": way, "repair": "none"}}
                before = servers[way].cpu_s() if way in servers else 0
                answer = Streamed(urls[way], bodies[step] | mode)
                if way in servers:
                    servers[way].wait_until_encoded()
                answer.cpu_s = servers[way].cpu_s() - before if way in servers else None
                runs[way][step].append(answer)
    return runs


def cell(answers):
    return spread([answer.first_s for answer in answers]) if answers else ""


def lines_of(runs):
    yield ("| | first, ms | again, ms | changed, ms | processor time of changed, s | cached then |\n"
           "|--|--|--|--|--|--|")
    for way, steps in runs.items():
        last = steps["changed"][-1]
        cpu = [answer.cpu_s for answer in steps["changed"] if answer.cpu_s is not None]
        cells = [cell(steps[step]) for step in STEPS] + [spread(cpu, 1, 2) if cpu else ""]
        yield (f"| {way} | {' | '.join(cells)} | {last.cached()} of "
               f"{last.usage.get('prompt_tokens')} tokens |")
    for way in runs:
        if way != "tools":
            ratios = [a.first_s / b.first_s
                      for a, b in zip(runs[way]["changed"], runs["tools"]["changed"])]
            yield f"changed, {way} / tools: {spread(ratios, 1, 1)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--peer", help="URL of another server")
    a = parser.parse_args()
    print(load_line())
    servers = {mode: Server(a.command, a.model, a.threads, "--chat-template", str(TEMPLATE))
               for mode in MODES}
    urls = {mode: server.url for mode, server in servers.items()}
    if a.peer:
        urls["peer"] = a.peer
    number = time.time_ns() if a.peer else 1  # a peer may have seen others
    runs = measure(urls, servers, a.repeat, number)
    print(*lines_of(runs), load_line(), sep="\n")
    write_json(a.json, {way: {step: [{"first_s": answer.first_s, "cpu_s": answer.cpu_s, "usage": answer.usage,
                                      "prompt_cache": answer.prompt_cache} for answer in answers]
                              for step, answers in steps.items()} for way, steps in runs.items()})
    for server in servers.values():
        server.close()


if __name__ == "__main__":
    main()
