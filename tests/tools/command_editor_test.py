#!/usr/bin/env python3
"""chat as a person types to it: a terminal on all sides."""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

from command import COMMAND, CommandTest, MODEL

PASTE = "\x1b[200~{}\x1b[201~"


class Typed(CommandTest):
    def setUp(self):
        super().setUp()
        self.outside, self.inside = pty.openpty()
        fcntl.ioctl(self.inside, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        self.before = termios.tcgetattr(self.inside)
        self.text = ""
        self.addCleanup(os.close, self.outside)
        self.addCleanup(os.close, self.inside)

    def chat(self, *arguments):
        self.process = subprocess.Popen(
            [COMMAND, "chat", MODEL, "-t", "1", "-n", "4", *arguments], env=self.environment | {"TERM": "xterm"},
            cwd=self.dir, stdin=self.inside, stdout=self.inside, stderr=self.inside, start_new_session=True)
        self.addCleanup(self.end)
        self.wait_for("> ")

    def end(self):
        self.process.kill()
        self.process.wait()

    def type(self, text):
        data = text.encode()
        while data:  # a terminal takes no more than it has room for
            _, room, _ = select.select([], [self.outside], [], 0.1)
            if room:
                data = data[os.write(self.outside, data[:256]):]
            self.read()

    def read(self):
        while select.select([self.outside], [], [], 0)[0]:
            self.text += os.read(self.outside, 1 << 16).decode(errors="replace")

    def wait_for(self, pattern):
        """Reads on until what came since the last wait has it."""
        end = time.monotonic() + 20
        while not (found := re.search(pattern, self.text)):
            self.assertLess(time.monotonic(), end, f"{pattern} in {self.text!r}")
            time.sleep(0.01)
            self.read()
        self.text = self.text[found.end():]
        return found

    def messages(self, history):
        return [m["content"] for m in map(json.loads, pathlib.Path(history).read_text().splitlines())
                if m.get("role") == "user"]

    def test_a_line_may_be_longer_than_a_terminal_takes_at_once(self):
        self.chat()
        command = "/" + "word" * 1500
        self.type(command + "\r")
        self.wait_for(re.escape(f"[{command} is no command"))

    def test_a_paste_of_many_lines_is_one_message(self):
        history = self.dir / "h.jsonl"
        self.chat("--history", str(history))
        lines = "one\ntw\u00f6\n\tthree \\\nfour"
        self.type(PASTE.format(lines.replace("\n", "\r")))
        self.type("\r")
        self.wait_for("reused")
        self.type("/quit\r")
        self.process.wait(60)
        self.assertEqual(self.messages(history), [lines])

    def test_a_paste_may_end_in_a_backslash(self):
        history = self.dir / "h.jsonl"
        self.chat("--history", str(history))
        self.type(PASTE.format("one\rC:\\dir\\") + "\r")
        self.wait_for("reused")
        self.type("/quit\r")
        self.process.wait(60)
        self.assertEqual(self.messages(history), ["one\nC:\\dir\\"])

    def test_where_the_answers_go_elsewhere_nothing_is_told_to_the_terminal(self):
        with open(self.dir / "out", "wb") as out:
            process = subprocess.Popen([COMMAND, "chat", MODEL, "-t", "1", "-n", "4", "-q"],
                                       env=self.environment | {"TERM": "xterm"}, cwd=self.dir, stdin=self.inside,
                                       stdout=out, stderr=subprocess.DEVNULL, start_new_session=True)
            os.write(self.outside, b"hello\n/quit\n")
            self.assertEqual(process.wait(60), 0)
        self.assertNotIn(b"\x1b", (self.dir / "out").read_bytes())

    def test_what_was_said_is_recalled_also_of_an_earlier_conversation(self):
        history = self.dir / "h.jsonl"
        self.chat("--history", str(history))
        self.type("hello\r")
        self.wait_for("reused")
        self.type("/quit\r")
        self.process.wait(60)
        self.chat("--history", str(history))
        self.type("\x1b[A\x1b[D!\r")  # up, left, and a letter in between
        self.wait_for("reused")
        self.type("/quit\r")
        self.process.wait(60)
        self.assertEqual(self.messages(history), ["hello", "hell!o"])

    def test_the_tab_key_completes_commands_and_modules(self):
        self.chat("-s", self.schema)
        self.type("/mo\t\r")
        self.wait_for("trip days=: ")
        self.wait_for("> ")
        self.type("/use tr\tda\t3\r")
        self.wait_for("> ")
        self.type("Where?\r")
        self.wait_for("reused")

    def test_ctrl_c_at_the_prompt_leaves_the_terminal_as_it_was(self):
        self.chat()
        self.type("half a li")
        time.sleep(0.2)
        os.killpg(self.process.pid, signal.SIGINT)
        self.assertEqual(self.process.wait(60), 130)
        self.read()
        self.assertIn("\x1b[?2004l", self.text)
        self.assertEqual(termios.tcgetattr(self.inside), self.before)

    def test_a_stop_that_has_no_effect_is_no_end_of_the_input(self):
        history = self.dir / "h.jsonl"
        self.chat("--history", str(history))
        self.type("half")
        self.wait_for("half")
        os.killpg(self.process.pid, signal.SIGTSTP)  # whose leader no shell waits for: it goes on
        time.sleep(0.2)
        self.assertIsNone(self.process.poll())
        self.type(" more\r")
        self.wait_for("reused")
        self.type("/quit\r")
        self.process.wait(60)
        self.assertEqual(self.messages(history), ["half more"])

    def test_the_end_of_the_input_ends_it(self):
        self.chat()
        self.type("\x04")
        self.assertEqual(self.process.wait(60), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
