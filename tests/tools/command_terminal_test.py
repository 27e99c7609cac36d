#!/usr/bin/env python3
"""What a terminal shows, and Ctrl-C."""
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import unittest

from command import COMMAND, CommandTest, MODEL


EMULATED = "QEMU_CPU" in os.environ
MODULES = 30 if EMULATED else 120  # so many that encoding is still under way when it is interrupted


class Terminal(CommandTest):
    def on_a_terminal(self, *line, expect=0, **environment):
        """What the command writes when both its outputs are one terminal."""
        outside, inside = pty.openpty()
        process = subprocess.Popen([COMMAND, *line], env=self.environment | environment, cwd=self.dir,
                                   stdin=subprocess.DEVNULL, stdout=inside, stderr=inside)
        os.close(inside)
        text = b""
        try:
            while chunk := os.read(outside, 1 << 16):
                text += chunk
        except OSError:  # Linux says EIO where the last writer has gone
            pass
        os.close(outside)
        self.assertEqual(process.wait(), expect, text)
        return text.decode()

    def test_encode_draws_a_bar_and_takes_it_away(self):
        text = self.on_a_terminal("encode", "-m", MODEL, "-s", self.schema, "-t", "1")
        self.assertIn("[####", text)
        self.assertRegex(text, r"\r\x1b\[K\d+ of \d+ modules encoded")
        quiet = self.on_a_terminal("encode", "-m", MODEL, "-s", self.schema, "-t", "1", "-q")
        self.assertEqual(quiet, "")

    def test_colour_is_only_for_terminals_without_no_color(self):
        line = ["run", "-m", MODEL, "-s", self.schema, "missing.pml"]
        self.assertIn("\x1b[31merror:", self.on_a_terminal(*line, expect=1))
        self.assertNotIn("\x1b", self.on_a_terminal(*line, expect=1, NO_COLOR="1"))
        self.command(*line, expect=1)
        self.assertNotIn("\x1b", self.err)

    def test_an_answer_sends_no_control_characters_to_a_terminal(self):
        line = ["run", "-m", MODEL, "-s", self.schema, self.prompt, "-t", "1", "-n", "2000", "--temp", "3", "--seed", "1"]
        self.assertRegex(self.command(*line), r"[\x00-\x08\x0b-\x1f]")  # there are some to be kept away
        self.assertNotRegex(self.on_a_terminal(*line), r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


class Interrupts(CommandTest):
    def finish(self, process):
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        return out, err

    def test_in_the_middle_of_encode_a_sound_store_is_left(self):
        many = "".join(f'<module name="m{i}">Module number {i}: {"words " * 50}</module>' for i in range(MODULES))
        self.schema = self.write("many.pml", f'<schema name="many">{many}</schema>')
        process = self.start("encode", "-m", MODEL, "-s", self.schema, "-t", "1")
        process.stderr.readline()  # the first module is stored
        process.send_signal(signal.SIGINT)
        self.finish(process)
        stored = len(self.json("cache", "ls")["files"])
        self.assertTrue(0 < stored < MODULES, stored)
        self.assertEqual(self.json("cache", "verify")["bad"], 0)
        rest = self.verb_json("encode", "-q")
        self.assertEqual(rest["modules_encoded"], rest["modules"] - stored)

    def test_in_the_middle_of_an_answer(self):
        process = self.start("run", "-m", MODEL, "-s", self.schema, self.prompt, "-t", "1", "-n", "3500", "--stop",
                             "never this")
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        self.finish(process)

    @unittest.skipIf(EMULATED, "the emulator's own handler of signals hides the command's")
    def test_where_nothing_can_be_stopped_tidily_at_once(self):
        process = self.start("tokenize", "-m", MODEL, stdin=subprocess.PIPE)
        self.wait_for_handler(process.pid)
        process.send_signal(signal.SIGINT)
        self.finish(process)

    def wait_for_handler(self, pid):
        while True:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            if int(re.search(r"^SigCgt:\s*([0-9a-f]+)", status, re.M)[1], 16) & 1 << (signal.SIGINT - 1):
                return


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
