#!/usr/bin/env python3
"""Records the requests that unmodified clients send in a loop, for replay.py.

    python3 bench/serve/record_loops.py MODEL.gguf [--only NAME] [-- OPTION...]

Each client runs by itself, with the packages that scripts/clients --all installed, against our server,
through a proxy that writes down the bodies it passes on: bench/serve/loops/NAME.json has the client and
its version, and each request's path and body as they came. Tools, repositories and tasks are made up;
what is answered is drawn greedily, so that a replay with the same model has the same answers.
"""

import argparse
import asyncio
import contextlib
import http.server
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from serving import HERE, Server, add_options, connect, post

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
CLIENTS = os.environ.get("PC_CLIENTS") or str(CACHE / "promptcache-clients")
SHELVES = {1: "14 seed trays, 3 bags of peat, 60 plant labels",
           2: "9 watering cans, 2 of them leaking, 22 gloves",
           3: "4 sacks of potatoes, 31 tulip bulbs, 7 jars of honey",
           4: "empty but for a broken lamp and a ladder",
           5: "12 clay pots of 20 cm, 48 of 10 cm, 5 saucers",
           6: "2 hoses of 15 m, 1 of 30 m, 6 couplings"}
DAYS = {"monday": "rain until noon, wind 4 from west, 11 degrees, visibility poor, tide high at 9:40",
        "tuesday": "clear, wind 2 from south, 15 degrees, visibility good, tide high at 10:31",
        "wednesday": "storm warning, wind 9 from north west, 8 degrees, harbour closed, tide high at 11:20",
        "thursday": "cloudy, wind 3 from east, 13 degrees, visibility fair, tide high at 12:12"}
FILES = {"README.md": "# tides\n\nPrints when the tide is high. `python tides.py HARBOUR DAY` reads table.csv."
                      "\n",
         "tides.py": "import csv\nimport sys\n\n\ndef rows(path):\n    with open(path) as file:\n"
                     "        yield from csv.DictReader(file)\n\n\ndef high(harbour, day):\n"
                     "    return [row['time'] for row in rows('table.csv')\n"
                     "            if row['harbour'] == harbour and row['day'] == day]\n\n\n"
                     "if __name__ == '__main__':\n"
                     "    print(*high(sys.argv[1], int(sys.argv[2])), sep='\\n')\n",
         "table.csv": "harbour,day,time\n" + "".join(f"{name},{day},{(day * 49 + shift) // 60 % 24:02}:"
                                                     f"{(day * 49 + shift) % 60:02}\n" for day in range(1, 9)
                                                     for name, shift in (("north", 130), ("south", 415)))}
GARDEN = {"beds.py": 'BEDS = {"north": ["leek", "kale"], "south": ["tomato"]}\n\n\ndef plants(bed):\n'
                     '    """What grows in a bed."""\n    return BEDS[bed]\n\n\ndef add(bed, plant):\n'
                     '    BEDS[bed].append(plant)\n',
          "water.py": 'from beds import plants\n\nLITRES = {"leek": 1, "kale": 2, "tomato": 3}\n\n\n'
                      'def litres(bed):\n    """How much water a bed needs in a day."""\n'
                      '    return sum(LITRES[plant] for plant in plants(bed))\n'}
EDITS = ["In beds.py, make add() refuse a plant that the bed has already, with a ValueError.",
         "In water.py, let a plant that LITRES does not know count as 1 litre.",
         "In beds.py, add a function remove(bed, plant).",
         "In water.py, add a function week(bed) that returns the litres of seven days.",
         "In beds.py, give every function a docstring of one line.",
         "In water.py, add type hints to all functions."]
AIDER = ["--model", "openai/coder", "--yes-always", "--no-check-update", "--no-git", "--no-pretty",
         "--no-fancy-input", "--no-show-model-warnings", "--no-show-release-notes", "--analytics-disable",
         "--no-suggest-shell-commands", "--no-detect-urls", "--map-tokens", "0",
         "--max-chat-history-tokens", "20000"]
ASKED = ["Why is the sea salty?", "Does that make it harder to freeze?", "At which temperature does it?",
         "And a lake?", "Which of both has more fish?", "Name three of the sea.",
         "Which of them is the largest?", "Sum up what we said in one sentence."]
done = []  # shelves or days of this process's client


def count_shelf(number: int) -> str:
    """Counts what lies on a shelf of the store room.

    Args:
        number: the shelf, from 1 to 6
    """
    done.append(number)
    left = [shelf for shelf in SHELVES if shelf not in done]
    return f"Shelf {number} has {SHELVES.get(number, 'no such number')}. Not counted yet: {left or 'none'}."


def order(item: str, amount: int) -> str:
    """Orders an item of which too little is left.

    Args:
        item: what to order
        amount: how many
    """
    return f"Ordered {amount} of {item}; they come in {3 + len(item) % 5} days."


def report(summary: str) -> str:
    """Ends the task with a summary of all shelves. Only when all are counted."""
    return summary


def openai_agents(url):
    """openai-agents: counts shelves with three tools, until it has reported."""
    import agents
    from openai import AsyncOpenAI
    agents.set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=url + "/v1", api_key="none")
    settings = agents.ModelSettings(max_tokens=300, temperature=0, tool_choice="required")
    agent = agents.Agent(
        name="clerk", model=agents.OpenAIChatCompletionsModel("coder", openai_client=client),
        instructions="You keep a store room. Count one shelf after another, from 1 to 6, then report.",
        tools=[agents.function_tool(tool) for tool in (count_shelf, order, report)], model_settings=settings,
        reset_tool_choice=False, tool_use_behavior=agents.StopAtTools(stop_at_tool_names=["report"]))
    with contextlib.suppress(agents.MaxTurnsExceeded):
        asyncio.run(agents.Runner.run(agent, "Count all shelves and report what is on them.", max_turns=9))


def weather(day: str) -> dict:
    """The weather of a day, and which days were not read yet."""
    done.append(day.lower())
    return {"day": day, "forecast": DAYS.get(day.lower(), "unknown"),
            "not read yet": [name for name in DAYS if name not in done]}


def note(day: str, verdict: str) -> str:
    """Writes down what one thinks of a day."""
    return f"Noted of {day}: {verdict[:60]}"


async def plans(agent):
    from pydantic_ai import UsageLimits
    history = None
    for question, limit in (("When shall the boat sail?", 10), ("And if it must be back before noon?", 3)):
        async with agent.run_stream(question, message_history=history,
                                    usage_limits=UsageLimits(request_limit=limit)) as result:
            await result.get_output()
            history = result.all_messages()


def pydantic_ai(url):
    """pydantic-ai: reads the weather of days, and ends with a typed plan; its answers are streamed."""
    import pydantic
    from pydantic_ai import Agent, ToolOutput
    from pydantic_ai.exceptions import UsageLimitExceeded
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class Plan(pydantic.BaseModel):
        """Ends the task: the day on which the boat sails. Only when all days were read and noted."""
        day: str
        reasons: list[str]
        crew: int

    model = OpenAIChatModel("coder", provider=OpenAIProvider(base_url=url + "/v1", api_key="none"))
    agent = Agent(model, tools=[weather, note], output_type=ToolOutput(Plan, name="plan"),
                  instructions="You plan when a boat sails. Read the weather of monday, tuesday, wednesday "
                               "and thursday, one call at a time, note each, then make the plan.",
                  model_settings={"max_tokens": 300, "temperature": 0, "parallel_tool_calls": False})
    with contextlib.suppress(UsageLimitExceeded):
        asyncio.run(plans(agent))


def aider(url):
    """aider: edits two files by six wishes of one chat."""
    folder = Path(tempfile.gettempdir()) / "garden"  # a name that may stand in a recording
    folder.mkdir()
    settings = "- name: openai/coder\n  extra_params: {max_tokens: 800}\n"
    for name, text in (GARDEN | {".aider.model.settings.yml": settings}).items():
        (folder / name).write_text(text)
    os.environ.update(HOME=str(folder), OPENAI_API_KEY="none", OPENAI_API_BASE=url + "/v1", LANG="C.UTF-8")
    run = subprocess.run([sys.executable, "-m", "aider", *AIDER, *GARDEN], cwd=folder, text=True,
                         input="\n".join(EDITS) + "\n")
    shutil.rmtree(folder)
    assert run.returncode == 0


def anthropic(url):
    """anthropic: reads a repository with tools; cache_control on the system's text and the last block."""
    from anthropic import Anthropic
    client = Anthropic(base_url=url, api_key="none")
    messages, system = [], [{"type": "text", "cache_control": {"type": "ephemeral"}, "text":
                             "You look after a small program. Read its files with the tools before you say "
                             "anything about it, one after another, and never guess what is in a file."}]
    for question, rounds in (("What does this program do, and what is wrong with it?", 5),
                             ("Which harbour has the later tide on day 3?", 3)):
        messages.append({"role": "user", "content": [{"type": "text", "text": question}]})
        for number in range(rounds):
            answer = client.messages.create(
                model="coder", max_tokens=300, extra_body={"temperature": 0}, system=system,
                tools=anthropic_tools(), messages=marked(messages),
                tool_choice={"type": "any" if number < rounds - 1 else "none"})
            messages.append({"role": "assistant",
                             "content": [block.model_dump(exclude_none=True) for block in answer.content]})
            results = [{"type": "tool_result", "tool_use_id": block.id, "content": result(block)}
                       for block in answer.content if block.type == "tool_use"]
            if results:
                messages.append({"role": "user", "content": results})


def anthropic_tools():
    path = {"type": "object", "properties": {"path": {"type": "string", "enum": list(FILES)}},
            "required": ["path"]}
    word = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    return [{"name": "read_file", "description": "Reads a file of the program.", "input_schema": path},
            {"name": "grep", "description": "Lines of all files that have a word.", "input_schema": word}]


def result(block):
    """Of a call of a tool."""
    if block.name == "read_file":
        return FILES.get(block.input["path"], "no such file")
    found = [f"{name}: {line}" for name, text in FILES.items() for line in text.splitlines()
             if block.input["word"] in line]
    return "\n".join(found[:12]) or "nothing found"


def marked(messages):
    """The messages with a mark on the last block alone."""
    *before, last = messages
    *blocks, block = last["content"]
    return [*before, last | {"content": [*blocks, block | {"cache_control": {"type": "ephemeral"}}]}]


def thoughts(url):
    """openai: a chat of eight turns with a template that leaves earlier thoughts out."""
    from openai import OpenAI
    client, messages = OpenAI(base_url=url + "/v1", api_key="none"), []
    connection = connect(url)
    controls = json.load(post(connection, {"content": "<|im_start|><|im_end|><|endoftext|>"}, "/tokenize"))
    never = {str(token): -100 for token in controls["tokens"]}  # a model not made to think would end there
    for question in ASKED:
        messages.append({"role": "user", "content": question})
        answer = client.chat.completions.create(model="coder", messages=messages, temperature=0,
                                                max_tokens=140, logit_bias=never,
                                                extra_body={"reasoning_budget": 60})
        messages.append({"role": "assistant", "content": answer.choices[0].message.content})


LOOPS = {"openai-agents": (openai_agents, "-frameworks", "openai-agents"),
         "pydantic-ai": (pydantic_ai, "-frameworks", "pydantic-ai-slim"),
         "aider": (aider, "-aider", "aider-chat"),
         "anthropic": (anthropic, "", "anthropic"),
         "thoughts": (thoughts, "", "openai")}
TEMPLATES = {"thoughts": "thoughts.jinja"}


class Proxy(http.server.BaseHTTPRequestHandler):
    """Passes requests on to the class's url, and keeps the bodies of those that ask for an answer."""

    def do_POST(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/v1/"):
            self.requests.append({"path": self.path.split("?")[0], "body": json.loads(data)})
        connection = connect(self.url)
        connection.request("POST", self.path, data, {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            print("refused:", response.status, json.dumps(self.requests[-1])[:2000], file=sys.stderr)
        self.send_response(response.status)
        self.send_header("Content-Type", response.headers["Content-Type"])
        self.end_headers()
        while part := response.read1(65536):
            self.wfile.write(part)
            self.wfile.flush()
        connection.close()

    def log_message(self, *_):
        pass


def recorded(name, a):
    """The requests of one loop, of a server with a store of its own."""
    options = ["--chat-template", str(HERE / TEMPLATES[name])] if name in TEMPLATES else []
    server = Server(a.command, a.model, a.threads, "--name", "coder", *options, *a.options)
    handler = type("Recording", (Proxy,), {"url": server.url, "requests": []})
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    packages = {"PYTHONPATH": CLIENTS + LOOPS[name][1], "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    run = subprocess.run([sys.executable, "-B", __file__, str(a.model), "--client", name, "--url",
                          f"http://127.0.0.1:{proxy.server_port}"],
                         env=os.environ | packages, text=True, capture_output=True)
    proxy.shutdown()
    server.close()
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    return handler.requests


def version(name):
    _, packages, package = LOOPS[name]
    found = importlib.metadata.distributions(name=package, path=[CLIENTS + packages])
    return f"{package} {next(iter(found)).version}"


def record(name, a):
    requests = recorded(name, a)
    loop = {"client": version(name), "about": LOOPS[name][0].__doc__, "model": a.model.stem,
            "template": TEMPLATES.get(name), "requests": requests}
    a.loops.mkdir(exist_ok=True)
    path = a.loops / f"{name}.json"
    path.write_text(json.dumps(loop, indent=1, ensure_ascii=False) + "\n")
    print(f"{path.name}: {len(requests)} requests, {path.stat().st_size} bytes", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--loops", type=Path, default=HERE / "loops", help="the folder to write to")
    parser.add_argument("--only", choices=LOOPS, help="the loop of this name alone")
    parser.add_argument("--client", choices=LOOPS, help="runs this client against --url, and records nothing")
    parser.add_argument("--url")
    parser.add_argument("options", nargs="*", help="the server's other options, behind --")
    a = parser.parse_args()
    if a.client:
        return LOOPS[a.client][0](a.url)
    for name in [a.only] if a.only else LOOPS:
        record(name, a)


if __name__ == "__main__":
    main()
