#!/usr/bin/env python3
"""Clients that vanish: many at once, in each protocol, that leave amid their head, their body or an answer, while others
are served; then the server ends amid answers. Under scripts/sanitize no race and no bad access may be seen."""
import json
import random
import signal
import socket
import threading
import time
import unittest

from server import PATIENCE, Server, ServeTest

CLIENTS, ROUNDS = 8, 12
USER = [{"role": "user", "content": "Where is the harbour? " * 20}]
LONG = {"max_tokens": 400, "temperature": 1}
BODIES = [("/v1/chat/completions", {"messages": USER, **LONG}), ("/v1/completions", {"prompt": ["Once", "upon"], **LONG}),
          ("/v1/messages", {"messages": USER, **LONG}), ("/v1/responses", {"input": "Hi", "max_output_tokens": 400}),
          ("/completion", {"prompt": "Once", "n_predict": 400}), ("/api/chat", {"messages": USER, "options": {"num_predict": 400}}),
          ("/tokenize", {"content": "a" * 2000}), ("/v1/prompt_cache/prewarm", {"messages": USER})]


def vanish(port, chance):
    """Sends a part of a request, or all of it, reads a part of what comes, and leaves in one of two ways."""
    path, body = chance.choice(BODIES)
    data = json.dumps(body | {"stream": chance.random() < 0.7}).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}\r\n\r\n".encode()
    whole = head + data
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
        client.sendall(whole[:chance.choice([3, len(head) - 2, len(head) + 5, len(whole), len(whole), len(whole)])])
        wait = chance.choice([0, 0.001, 0.02, 0.1])
        client.settimeout(max(wait, 0.001))
        try:
            client.recv(chance.choice([1, 100, 5000]))
        except TimeoutError:
            pass
        if chance.random() < 0.5:  # a reset, in the place of an end
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def vanish_often(server, seed, rounds):
    chance = random.Random(seed)
    for _ in range(rounds):
        try:
            vanish(server.port, chance)
        except OSError:  # the server has ended, which is another test's
            return


class Vanishing(ServeTest):
    def test_others_are_served_meanwhile_and_afterwards(self):
        threads = [threading.Thread(target=vanish_often, args=(self.server, seed, ROUNDS)) for seed in range(CLIENTS)]
        for thread in threads:
            thread.start()
        ask = {"messages": USER, "max_tokens": 4, "temperature": 0}
        answers = {self.server.json("POST", "/v1/chat/completions", ask)["choices"][0]["message"]["content"]
                   for _ in range(5)}
        for thread in threads:
            thread.join()
        answers.add(self.server.json("POST", "/v1/chat/completions", ask)["choices"][0]["message"]["content"])
        self.assertEqual(len(answers), 1)
        end = time.monotonic() + PATIENCE
        while any(slot["is_processing"] for slot in self.server.json("GET", "/slots")):
            self.assertLess(time.monotonic(), end, "an answer goes on for nobody")
            time.sleep(0.05)


class EndsAmidAnswers(unittest.TestCase):
    def test_a_server_that_ends_leaves_nothing_behind(self):
        for seed in range(3):
            server = Server()
            threads = [threading.Thread(target=vanish_often, args=(server, 100 * seed + i, 1000)) for i in range(CLIENTS)]
            for thread in threads:
                thread.start()
            time.sleep(random.Random(seed).random())
            code = server.close(signal.SIGTERM)
            for thread in threads:
                thread.join()
            self.assertEqual(code, 0, server.err)


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
