"""Starts `promptcache serve` and asks it, or another server of OpenAI's protocol, as a client does."""

import atexit
import http.client
import json
import os
import queue
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent
COMMAND = HERE.parent.parent / "build/tools/promptcache"
TEMPLATE = HERE / "tools.jinja"
PATIENCE = 600  # seconds, of a machine that is busy


def add_options(parser, threads=len(os.sched_getaffinity(0))):
    parser.add_argument("model", type=Path, help="a GGUF file or a folder")
    parser.add_argument("--command", type=Path, default=COMMAND, help="the promptcache that serves")
    parser.add_argument("--threads", type=int, default=threads)
    parser.add_argument("--json", type=Path, help="writes all values there")


class Server:
    """One process with a store of its own, which outlives restart() and ends with close()."""

    def __init__(self, command, model, threads, *options):
        self.folder = tempfile.TemporaryDirectory(prefix="bench_serve.")
        self.arguments = [str(command), "serve", "-m", str(model), "-t", str(threads), "--port", "0",
                          "--quiet", "--cache-dir", self.folder.name, *options]
        self.start()

    def start(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PROMPTCACHE_")}
        self.process = subprocess.Popen(self.arguments, env=environment, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        atexit.register(self.process.kill)  # where the bench fails
        lines = queue.Queue()
        threading.Thread(target=lambda: lines.put(self.process.stdout.readline()),
                         daemon=True).start()
        line = lines.get(timeout=PATIENCE)
        assert line.startswith("listening on "), line
        self.url = line.split()[2]

    def stop(self):
        self.process.terminate()
        assert self.process.wait(PATIENCE) == 0, "the server ended with a failure"

    def restart(self):
        self.stop()
        self.start()

    def close(self):
        self.stop()
        self.folder.cleanup()

    def memory(self):
        """KiB: anonymous, and all that is resident; mapped files count in the second."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return tuple(int(status.split(key)[1].split()[0]) for key in ("RssAnon:", "VmRSS:"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def wait_until_encoded(self):
        """As long as it encodes what it was sent, while nobody waits for it."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            connection = connect(self.url)
            connection.request("GET", "/metrics")
            page = connection.getresponse().read().decode()
            if float(page.split("\npromptcache_modules_waiting ")[1].split()[0]) == 0:
                return
            time.sleep(0.05)

    def cpu_s(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def connect(url):
    return http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)


def post(connection, body, path="/v1/chat/completions"):
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        raise OSError(f"{response.status}: {response.read()[:300]!r}")
    return response


def ask(url, body):
    connection = connect(url)
    answer = json.load(post(connection, body))
    connection.close()
    return answer


def events(response):
    while line := response.readline():
        if line.startswith(b"data: ") and line != b"data: [DONE]\n":
            yield json.loads(line[6:])


class Streamed:
    """An answer as it came: seconds from the request to the first token and from each to the next.

    The first token is the first event with text or a call; where an answer has none, its end.
    """

    def __init__(self, url, body, connection=None):
        self.text, self.usage, self.timings, self.prompt_cache = "", {}, {}, {}
        self.calls, self.finish = [], None
        body = body | {"stream": True, "stream_options": {"include_usage": True}}
        times, over, opened, start = [], None, connection or connect(url), time.perf_counter()
        for event in events(post(opened, body)):
            now = time.perf_counter()
            assert "error" not in event, event
            for key in ("usage", "timings", "prompt_cache"):
                setattr(self, key, event.get(key) or getattr(self, key))
            for choice in event["choices"]:
                delta = choice["delta"]
                if delta.get("content") or delta.get("tool_calls"):
                    times.append(now)
                    self.text += delta.get("content") or ""
                    for part in delta.get("tool_calls") or []:
                        self.add(part)
                if choice.get("finish_reason"):
                    over, self.finish = over or now, choice["finish_reason"]
        if not connection:
            opened.close()
        self.took_s = time.perf_counter() - start
        times = times or [over]
        self.first_s = times[0] - start
        self.gaps_s = [b - a for a, b in zip(times, times[1:])]

    def add(self, part):
        """A part of a call."""
        if part["index"] == len(self.calls):
            self.calls.append({"id": part["id"], "type": "function",
                               "function": {"name": part["function"]["name"], "arguments": ""}})
        self.calls[part["index"]]["function"]["arguments"] += part["function"].get("arguments") or ""

    def message(self):
        """As the next request's history has it."""
        message = {"role": "assistant", "content": self.text or None}
        return message | {"tool_calls": self.calls} if self.calls else message

    def cached(self):
        return (self.usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def spread(values, scale=1e3, digits=0):
    """Median (lowest..highest)."""
    low, middle, high = (f"{f(values) * scale:.{digits}f}" for f in (min, statistics.median, max))
    return f"{middle} ({low}..{high})"


def load_line():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo")
                  if line.startswith("model name")), "CPU")
    return (f"{len(os.sched_getaffinity(0))} cores, {model}; load averages "
            f"{' '.join(open('/proc/loadavg').read().split()[:3])}")


def write_json(path, values):
    if path:
        path.write_text(json.dumps(values, indent=1) + "\n")
