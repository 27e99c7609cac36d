"""A load of many requests to llama.cpp's server, over its own protocol, as a client sees it."""

import http.client
import json
import socket
import subprocess
import threading
import time

BOS = 1  # of Llama's vocabularies


class LlamaServerLoad:
    """setting: flash, step (tokens of a step at most); `server` is the program.

    Its slots have one memory, but each holds its prompt's beginning itself: room for all of them.
    """

    def __init__(self, server, file, threads, setting, cells, sequences):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        step = str(setting["step"])
        self.process = subprocess.Popen(
            [server, "-m", str(file), "--port", str(self.port), "-t", str(threads), "-c",
             str(cells["apart"]), "-np", str(sequences), "--kv-unified", "-b", step, "-ub", step,
             "-fa", "on" if setting["flash"] else "off", "--fit", "off"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.healthy():
            assert self.process.poll() is None, "llama-server has ended"
            time.sleep(0.1)
        self.warmed = {}

    def pid(self):
        return self.process.pid

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def healthy(self):
        try:
            return self.open("GET", "/health").status == 200
        except OSError:
            return False

    def open(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request(method, path, body and json.dumps(body),
                           {"Content-Type": "application/json"})
        return connection.getresponse()

    def tokens_of(self, text):
        """Of words; the tokenizer puts the space before the first itself."""
        words = {"content": text.removeprefix(" ")}
        return json.load(self.open("POST", "/tokenize", words))["tokens"]

    def run(self, path):
        """As load_bench's. What a request computed, the server says at its end."""
        with open(path) as file:
            workload = json.load(file)
        modules = {name: self.tokens_of(text) for name, text in workload["modules"].items()}
        for names in workload["warm"]:
            prompt = self.prompt(modules, names, [])
            if self.warmed.get(tuple(names)) != prompt:
                self.answer(prompt, 1, 0, {"token_s": []})
                self.warmed[tuple(names)] = prompt
        prompts = [self.prompt(modules, r["modules"], self.tokens_of(r["text"]))
                   for r in workload["requests"]]
        answers = [{"at": r["at"], "token_s": []} for r in workload["requests"]]
        start, threads = time.perf_counter(), []
        for request, prompt, answer in zip(workload["requests"], prompts, answers):
            time.sleep(max(0, start + request["at"] - time.perf_counter()))
            threads.append(threading.Thread(
                target=self.answer, args=(prompt, request["answer"], start, answer)))
            threads[-1].start()
        for thread in threads:
            thread.join()
        return answers

    @staticmethod
    def prompt(modules, names, text):
        return [BOS] + [token for name in names for token in modules[name]] + text

    def answer(self, prompt, n_answer, start, answer):
        response = self.open("POST", "/completion",
                             {"prompt": prompt, "n_predict": n_answer, "ignore_eos": True,
                              "temperature": 0, "stream": True, "return_tokens": True,
                              "cache_prompt": True})
        for line in response:
            if not line.startswith(b"data: "):
                continue
            event = json.loads(line[6:])
            now = time.perf_counter() - start
            answer["token_s"] += [now] * len(event.get("tokens", []))
            if event.get("stop"):
                answer["computed"] = event["timings"]["prompt_n"]
