#!/usr/bin/env python3
"""Socket activation, with this program in systemd's place: the server answers on the sockets that it
was handed over. And systemd, where it is there, finds nothing wrong with the units in examples/systemd."""
import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from server import COMMAND, MODEL, PATIENCE

UNITS = pathlib.Path(os.environ["PC_SOURCE_DIR"]) / "examples/systemd"

# sd_listen_fds(3): the sockets are the descriptors from 3 on, and LISTEN_PID is the server's own.
HAND_OVER = """
import fcntl, os, sys
spare = [fcntl.fcntl(int(n), fcntl.F_DUPFD, 64) for n in sys.argv[1].split(",")]
for i, descriptor in enumerate(spare):
    os.dup2(descriptor, 3 + i)
    os.close(descriptor)
os.environ |= {"LISTEN_FDS": str(len(spare)), "LISTEN_PID": str(os.getpid() + int(sys.argv[2]))}
os.execv(sys.argv[3], sys.argv[3:])
"""


class Activation(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="serve_test."))
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, *sockets, pid_offset=0):
        """The server, and its first line for each socket."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PROMPTCACHE_")}
        environment |= {"PROMPTCACHE_CACHE_DIR": str(self.folder / "cache"), "PROMPTCACHE_PORT": "0"}
        numbers = [s.fileno() for s in sockets]
        process = subprocess.Popen(
            [sys.executable, "-c", HAND_OVER, ",".join(map(str, numbers)), str(pid_offset), COMMAND, "serve",
             "-m", MODEL, "-t", "1"], pass_fds=numbers, env=environment, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.addCleanup(self.end, process)
        return process, [process.stdout.readline() for _ in sockets]

    def end(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)

    def health(self, connection):
        connection.request("GET", "/health")
        response = connection.getresponse()
        answer = response.status, response.read()
        connection.close()
        return answer

    def test_it_answers_on_the_sockets_that_it_was_handed(self):
        port, path = socket.create_server(("127.0.0.1", 0)), str(self.folder / "socket")
        local = socket.socket(socket.AF_UNIX)
        local.bind(path)
        local.listen()
        with port, local:
            early = socket.create_connection(port.getsockname())  # before anybody accepts
            early.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            process, lines = self.start(port, local)
            self.assertEqual([line.split()[2:4] for line in lines], [["descriptor", "3"], ["descriptor", "4"]])
            with early:
                early.settimeout(PATIENCE)
                self.assertTrue(early.recv(4096).startswith(b"HTTP/1.1 200 OK"))
            over_tcp = http.client.HTTPConnection(*port.getsockname(), timeout=PATIENCE)
            self.assertEqual(self.health(over_tcp), (200, b'{"status":"ok"}'))
            over_unix = http.client.HTTPConnection("any.name", timeout=PATIENCE)
            over_unix.sock = socket.socket(socket.AF_UNIX)
            over_unix.sock.connect(path)
            self.assertEqual(self.health(over_unix), (200, b'{"status":"ok"}'))
            process.send_signal(signal.SIGTERM)  # as systemd does
            self.assertEqual(process.wait(timeout=PATIENCE), 0)
            self.assertTrue(os.path.exists(path))  # it is not the server's to remove

    def test_sockets_for_another_process_are_left_alone(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            _, lines = self.start(other, pid_offset=1)
            self.assertIn("http://127.0.0.1:", lines[0])
            self.assertNotIn(f":{other.getsockname()[1]} ", lines[0])


@unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze")
class Units(unittest.TestCase):
    def test_systemd_finds_nothing_wrong(self):
        with tempfile.TemporaryDirectory() as folder:
            for unit in UNITS.glob("promptcache.*"):
                text = unit.read_text().replace("/usr/bin/promptcache", COMMAND)
                (pathlib.Path(folder) / unit.name).write_text(text)
            run = subprocess.run(["systemd-analyze", "verify", "--man=no", f"{folder}/promptcache.service",
                                  f"{folder}/promptcache.socket"], capture_output=True, text=True, timeout=PATIENCE)
        said = [line for line in run.stderr.splitlines() if re.search(r"promptcache\.(service|socket)", line)]
        self.assertEqual((run.returncode, said), (0, []), run.stderr)


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
