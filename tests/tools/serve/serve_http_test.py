#!/usr/bin/env python3
"""The server as HTTP: what is malformed, too large or too slow is refused in words, requests behind
each other are answered in order, strangers are turned away, and whoever leaves is noticed."""
import gzip
import http.client
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import zlib

from server import COMMAND, MODEL, PATIENCE, Server, ServeTest, events

GOOD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


def head(*lines):
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


# What is sent, and the status.
BAD = [
    (b"GET\r\n\r\n", 400),
    (b"GET / HTTP/9.9\r\n\r\n", 400),
    (b"G\x00T / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"GET /he alth HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (head("GET /health HTTP/1.1", "Host: localhost", "no colon"), 400),
    (head("GET /health HTTP/1.1", "Host: local\0host"), 400),
    (head("GET /health HTTP/1.1", " Host: localhost"), 400),
    (head("POST /tokenize HTTP/1.1", "Host: localhost", "Content-Length: -1"), 400),
    (head("POST /tokenize HTTP/1.1", "Host: localhost", "Content-Length: x"), 400),
    (head("POST /tokenize HTTP/1.1", "Host: localhost", "Content-Length: 3", "Content-Length: 5"), 400),
    (head("POST /tokenize HTTP/1.1", "Host: localhost", "Content-Length: 99999999999999999999"), 400),
    (head("POST /tokenize HTTP/1.1", "Host: localhost", "Content-Length: 3", "Transfer-Encoding: chunked") +
     b"0\r\n\r\n", 400),
    (head("POST /tokenize HTTP/1.1", "Host: localhost", "Transfer-Encoding: chunked") + b"zz\r\n", 400),
    (head("POST /tokenize HTTP/1.1", "Host: localhost", "Content-Length: 100000000"), 413),
    (head("GET /health HTTP/1.1", "Host: localhost", "X: " + "x" * 20000), 431),
    (b"GET /" + b"x" * 20000, 431),
    (head("GET /health HTTP/1.1", "Host: evil.example"), 403),
    (head("GET /health HTTP/1.1", "Host: localhost", "Origin: https://evil.example"), 403),
    (head("GET /health HTTP/1.1", "Host: localhost", "Origin: null"), 403),
]


class Connection:
    """What comes behind each other on one connection."""

    def __init__(self, at):
        """at: a port, or the path of a socket."""
        if isinstance(at, int):
            self.socket = socket.create_connection(("127.0.0.1", at), timeout=PATIENCE)
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(PATIENCE)
            self.socket.connect(at)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def read(self, has_body=True):
        """The next response: status, headers, body."""
        status = int(self.file.readline().split()[1])
        headers = http.client.parse_headers(self.file)
        if not has_body:
            return status, headers, b""
        if headers["content-length"]:
            return status, headers, self.file.read(int(headers["content-length"]))
        if headers["transfer-encoding"] != "chunked":
            return status, headers, self.file.read() if headers["connection"] == "close" else b""
        body = b""
        while size := int(self.file.readline(), 16):
            body += self.file.read(size)
            self.file.readline()
        self.file.readline()
        return status, headers, body


class Http(ServeTest):
    ARGUMENTS = ("--allow-origin", "https://app.example", "--allow-host", "box.example")

    def open(self):
        return Connection(self.server.port)

    def memory(self):
        with open(f"/proc/{self.server.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def exchange(self, data):
        with self.open() as connection:
            connection.send(data)
            return connection.read()

    def test_what_is_no_request_is_refused_in_words(self):
        for data, status in BAD:
            with self.subTest(data[:70]):
                got, headers, body = self.exchange(data)
                self.assertEqual(got, status, body)
                if status != 403:
                    self.assertEqual(headers["connection"], "close")
                self.assertTrue(json.loads(body)["error"]["message"])
        self.assertEqual(self.exchange(GOOD)[0], 200)

    def test_requests_behind_each_other_are_answered_in_order(self):
        with self.open() as connection:
            body = b'{"content":"abc"}'
            post = head("POST /tokenize HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}") + body
            connection.send(GOOD + post + b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(json.loads(connection.read()[2]), {"status": "ok"})
            self.assertEqual(json.loads(connection.read()[2]), {"tokens": [97, 98, 99]})
            self.assertEqual(json.loads(connection.read()[2])["object"], "list")

    def test_bodies_may_come_in_chunks_and_be_asked_for(self):
        with self.open() as connection:
            connection.send(head("POST /tokenize HTTP/1.1", "Host: localhost", "Transfer-Encoding: chunked",
                                    "Expect: 100-Continue"))
            self.assertTrue(connection.file.readline().startswith(b"HTTP/1.1 100 "))
            connection.file.readline()
            connection.send(b"8\r\n{\"conten\r\n7\r\nt\":\"a\"}\r\n0\r\n\r\n")
            self.assertEqual(json.loads(connection.read()[2]), {"tokens": [97]})

    def test_a_path_may_be_spelt_in_several_ways(self):
        for target in ("/v1/models/", "//v1/models", "/v1//models", "/v1/%6Dodels", "http://localhost/v1/models",
                       f"HTTP://127.0.0.1:{self.server.port}/v1/models?x=1"):
            status, _, body = self.exchange(head(f"GET {target} HTTP/1.1", "Host: localhost"))
            self.assertEqual((status, json.loads(body)["object"]), (200, "list"), target)
        body = b'{"content":"a"}'
        post = head("POST /tokenize/ HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}") + body
        self.assertEqual(json.loads(self.exchange(post)[2]), {"tokens": [97]})
        self.assertEqual(self.exchange(b"GET /v1%2Fmodels HTTP/1.1\r\nHost: localhost\r\n\r\n")[0], 404)
        # The name in the target counts, whatever Host says.
        for target, host in (("http://evil.example/health", "localhost"), ("http://localhost/health", "evil.example")):
            status = self.exchange(head(f"GET {target} HTTP/1.1", f"Host: {host}"))[0]
            self.assertEqual(status, 403 if "evil" in target else 200, target)

    def test_who_asks_for_the_methods_of_a_path_is_told(self):
        for target, methods in (("/v1/models", "GET, OPTIONS"), ("/v1/chat/completions", "POST, OPTIONS"),
                                ("/pml/schemas/x", "DELETE, GET, OPTIONS"), ("*", "DELETE, GET, POST, OPTIONS")):
            with self.open() as connection:
                connection.send(head(f"OPTIONS {target} HTTP/1.1", "Host: localhost"))
                status, headers, _ = connection.read(has_body=False)
                self.assertEqual((status, headers["allow"]), (204, methods), target)
                connection.send(GOOD)
                self.assertEqual(connection.read()[0], 200)
        self.assertEqual(self.exchange(head("OPTIONS /nowhere HTTP/1.1", "Host: localhost"))[0], 404)

    def test_bodies_may_be_packed(self):
        plain = b'{"content":"abc"}'
        raw = zlib.compressobj(wbits=-15)
        for coding, body in (("gzip", gzip.compress(plain)), ("X-GZIP", gzip.compress(plain)), ("identity", plain),
                             ("deflate", zlib.compress(plain)), ("deflate", raw.compress(plain) + raw.flush())):
            status, _, data = self.server.ask("POST", "/tokenize", body, {"content-encoding": coding})
            self.assertEqual((status, json.loads(data)), (200, {"tokens": [97, 98, 99]}), coding)
        long = json.dumps({"content": "tram " * 100_000}).encode()
        status, _, data = self.server.ask("POST", "/tokenize", gzip.compress(long), {"content-encoding": "gzip"})
        self.assertEqual((status, len(json.loads(data)["tokens"])), (200, 500_000))
        for coding, body, status, word in (("zstd", plain, 415, "zstd"), ("br", plain, 415, "br"),
                                           ("gzip, gzip", plain, 415, "gzip, gzip"), ("gzip", plain, 400, "gzip"),
                                           ("gzip", gzip.compress(plain)[:-1], 400, "damaged"),
                                           ("gzip", gzip.compress(b" " * (17 << 20)), 413, "16777216")):
            got, _, data = self.server.ask("POST", "/tokenize", body, {"content-encoding": coding})
            self.assertEqual(got, status, coding)
            self.assertIn(word, json.loads(data)["error"]["message"])

    def test_older_clients_and_heads(self):
        status, headers, body = self.exchange(b"GET /health HTTP/1.0\r\n\r\n")
        self.assertEqual((status, headers["connection"]), (200, "close"))
        with self.open() as connection:
            connection.send(b"HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n" + GOOD)
            status, headers, body = connection.read(has_body=False)
            self.assertEqual((status, body), (200, b""))
            self.assertEqual(int(headers["content-length"]), len('{"status":"ok"}'))
            self.assertEqual(connection.read()[0], 200)
        body = json.dumps({"messages": [{"role": "user", "content": "Hi"}], "stream": True, "max_tokens": 3}).encode()
        old = b"POST /v1/chat/completions HTTP/1.0\r\nContent-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body
        status, headers, data = self.exchange(old)
        self.assertIsNone(headers["transfer-encoding"])
        self.assertEqual(events(data)[-1][1], "[DONE]")

    def test_pages_of_allowed_origins_may_ask(self):
        ask = head("OPTIONS /v1/models HTTP/1.1", "Host: localhost", "Origin: https://app.example",
                   "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization, x-stainless-os")
        status, headers, _ = self.exchange(ask)
        self.assertEqual((status, headers["access-control-allow-origin"]), (204, "https://app.example"))
        self.assertEqual(headers["access-control-allow-headers"], "authorization, x-stainless-os")
        self.assertIsNone(headers["access-control-allow-private-network"])
        strange = ask.replace(b"app.example", b"evil.example")
        self.assertEqual(self.exchange(strange)[0], 403)
        status, headers, _ = self.exchange(head("GET /health HTTP/1.1", "Host: box.example:80",
                                                "Origin: https://app.example"))
        self.assertEqual((status, headers["access-control-allow-origin"]), (200, "https://app.example"))
        own = head("GET /health HTTP/1.1", "Host: localhost:99", "Origin: http://localhost:99")
        self.assertEqual(self.exchange(own)[0], 200)
        self.assertIsNone(self.exchange(GOOD)[1]["access-control-allow-origin"])
        for host in ("127.0.0.1:8080", "[::1]:8080", "192.168.0.7", "LOCALHOST", "a.localhost"):
            self.assertEqual(self.exchange(head("GET /health HTTP/1.1", "Host: " + host))[0], 200, host)

    def test_who_leaves_is_noticed_while_nothing_can_be_sent(self):
        body = json.dumps({"messages": [{"role": "user", "content": "Hi"}], "n": 16, "max_tokens": 3500,
                           "logit_bias": {"257": -100}}).encode()  # of seconds, so that it is seen under way
        ask = head("POST /v1/chat/completions HTTP/1.1", "Host: localhost",
                   f"Content-Length: {len(body)}") + body
        before = self.server.metric("abandoned_total")
        deadline = time.monotonic() + PATIENCE
        for _ in range(3):
            with self.open() as connection:
                connection.send(ask)
                while self.server.metric("answers_running") == 0 and time.monotonic() < deadline:
                    time.sleep(0.005)
        while self.server.metric("answers_running") > 0 and time.monotonic() < deadline:
            time.sleep(0.005)
        self.assertEqual(self.server.metric("answers_running"), 0)
        self.assertGreaterEqual(self.server.metric("abandoned_total"), before)

    def test_idle_connections_cost_little_and_disturb_nobody(self):
        before = self.memory()
        idle = [self.open() for _ in range(500)]
        try:
            self.assertEqual(self.exchange(GOOD)[0], 200)
            self.assertLess((self.memory() - before) / len(idle), 40_000)
            idle[250].send(GOOD)
            self.assertEqual(idle[250].read()[0], 200)
        finally:
            for connection in idle:
                connection.close()


class Descriptors(unittest.TestCase):
    FEW, MANY = 256, 1200

    def test_more_connections_stay_than_a_shell_gives_descriptors(self):
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        if before[1] < self.MANY + self.FEW:
            self.skipTest(f"{before[1]} descriptors are too few")
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.FEW, before[1]))
        server = Server()
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
        idle = [server.connect() for _ in range(self.MANY)]
        try:
            for _ in range(2):
                for connection in idle:
                    connection.request("GET", "/health")
                    self.assertEqual(connection.getresponse().read()[:1], b"{")
        finally:
            for connection in idle:
                connection.close()
            self.assertEqual(server.close(), 0, server.err)


class UnixSocket(unittest.TestCase):
    def get(self, path):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: whatever\r\nConnection: close\r\n\r\n")
            data = b""
            while piece := connection.recv(4096):
                data += piece
            return data

    def test_a_socket_is_its_owners_and_a_stale_one_is_replaced(self):
        path = f"/tmp/serve_test.{os.getpid()}.sock"
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        server = Server("--socket", path)
        self.assertEqual(server.address, "unix:" + path)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertTrue(self.get(path).startswith(b"HTTP/1.1 200 OK"))
        second = Server("--socket", path)
        self.assertEqual(second.line, "")
        self.assertEqual(second.close(), 1)
        self.assertIn("another server answers there", second.err)
        server.process.kill()  # leaves its file
        server.close()
        third = Server("--socket", path)
        self.assertTrue(self.get(path).startswith(b"HTTP/1.1 200 OK"))
        self.assertEqual(third.close(), 0)
        self.assertFalse(os.path.exists(path))

    def test_what_is_no_socket_stays(self):
        path = f"/tmp/serve_test.{os.getpid()}.file"
        with open(path, "w") as file:
            file.write("mine")
        self.addCleanup(os.unlink, path)
        server = Server("--socket", path)
        self.assertEqual(server.close(), 1)
        self.assertIn("it is a file", server.err)
        with open(path) as file:
            self.assertEqual(file.read(), "mine")


class Listening(ServeTest):
    def test_a_port_that_is_taken_is_named(self):
        other = Server("--port", str(self.server.port))
        self.assertEqual(other.close(), 1)
        self.assertIn(str(self.server.port), other.err)

    def test_the_name_that_it_listens_by_is_no_strangers(self):
        name = socket.gethostname()
        try:
            socket.create_server((name, 0)).close()
        except OSError:
            self.skipTest(f"{name} is no name of this machine")
        server = Server("--host", name, "--host", "localhost")
        try:
            ask = head("GET /health HTTP/1.1", f"Host: {name}:{server.port}", "Connection: close")
            with socket.create_connection((name, server.port), timeout=PATIENCE) as connection:
                connection.sendall(ask)
                self.assertTrue(connection.recv(4096).startswith(b"HTTP/1.1 200 "))
        finally:
            self.assertEqual(server.close(), 0)
        lines = [server.line, *server.out.splitlines()]
        self.assertTrue(any("http://127.0.0.1:" in line for line in lines), lines)

    def test_requests_are_logged_without_what_clients_wrote(self):
        server = Server("--log-requests", "--name", "tiny")
        chat = {"messages": [{"role": "user", "content": "sesame"}], "max_tokens": 3, "logit_bias": {"257": -100}}
        key = {"authorization": "Bearer sesame"}
        server.ask("POST", "/v1/chat/completions?x=sesame", chat, key)
        server.ask("POST", "/v1/chat/completions", chat | {"stream": True}, key)
        server.ask("POST", "/v1/chat/completions", chat | {"top_p": "sesame"}, key)
        server.ask("POST", "/v1/chat/completions", '{"a": sesame', key)
        server.ask("GET", "/nowhere")
        server.ask("GET", "/health", headers={"host": "evil.example"})
        with Connection(server.port) as connection:
            connection.send(b"sesame\r\n\r\n")
            connection.read()
        self.assertEqual(server.close(), 0)
        lines = server.err.splitlines()
        for line, pattern in zip(lines, (
                r"POST /v1/chat/completions 200 \d+\.\dms model=tiny prompt=\d+ cached=\d+ generated=3",
                r"POST /v1/chat/completions 200 \d+\.\dms model=tiny prompt=\d+ cached=\d+ generated=3",
                r"POST /v1/chat/completions 400 \d+\.\dms model=tiny error: top_p must .*",
                r"POST /v1/chat/completions 400 \d+\.\dms error: .*",
                r"GET /nowhere 404 \d+\.\dms error: GET /nowhere is no route of this server",
                r"GET /health 403 \d+\.\dms error: .*",
                r"- - 400 \d+\.\dms error: this is no request of HTTP/1.1: .*")):
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z loopback " + pattern + "$")
        self.assertNotIn("sesame", server.err)

    def test_it_runs_without_input_and_output(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path = folder + "/socket"
        process = subprocess.Popen(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", COMMAND, "serve", "-m", MODEL, "-t", "1",
                                    "--no-cache", "--socket", path])
        try:
            for _ in range(PATIENCE * 10):
                try:
                    with Connection(path) as connection:
                        connection.send(GOOD)
                        self.assertEqual(connection.read()[0], 200)
                    break
                except (ConnectionRefusedError, FileNotFoundError):
                    self.assertIsNone(process.poll())
                    time.sleep(0.1)
        finally:
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=PATIENCE), 0)

    def test_an_origin_that_no_page_has_is_refused(self):
        for origin in ("https://app.example/", "https://app.example/page", "app.example"):
            server = Server("--allow-origin", origin)
            self.assertEqual(server.close(), 2)
            self.assertIn(f"--allow-origin {origin}: an origin is a scheme and a host", server.err)

    # Eight of these are half a minute's work, of which the server gives them five seconds; 257 would end one.
    LONG = {"messages": [{"role": "user", "content": "Hi"}], "n": 16, "max_tokens": 3500, "logit_bias": {"257": -100}}
    PROMPT = {"messages": [{"role": "user", "content": "long " * 700}], "max_tokens": 1}

    def test_a_supervisor_may_end_it_while_answers_are_made(self):
        server = Server("--parallel", "9")
        clients = [server.connect() for _ in range(9)]
        for i, client in enumerate(clients[:8]):
            client.request("POST", "/v1/chat/completions", json.dumps(self.LONG | {"stream": i % 2 == 0}))
        response = clients[0].getresponse()
        self.assertEqual(response.read(6), b"data: ")
        while server.metric("answers_running") < 8:
            time.sleep(0.005)
        clients[8].request("POST", "/v1/chat/completions", json.dumps(self.PROMPT))
        while server.metric("answers_running") < 9 and server.metric("prompt_tokens_total") < 3000:
            time.sleep(0.001)
        self.assertEqual(server.close(signal.SIGTERM), 0)
        self.assertEqual(server.err.strip(), "stopping; Ctrl-C again ends at once")
        with self.assertRaises(http.client.IncompleteRead):
            response.read()
        for client in clients:
            client.close()


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
