#!/usr/bin/env python3
"""What a terminal shows, and Ctrl-C."""
import contextlib
import fcntl
import json
import math
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

from command import COMMAND, CommandTest, MODEL
from tiny_model import VOCAB, tensor_shapes


EMULATED = "QEMU_CPU" in os.environ
F_SETPIPE_SZ = 1031  # of <linux/fcntl.h>; Python has it from 3.10 on
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

    def test_the_first_start_of_a_model_draws_bars_and_takes_them_away(self):
        model = self.quantised_model()
        text = self.on_a_terminal("explain", "-m", model, "-s", self.schema, self.prompt, "-t", "1")
        self.assertIn("reading the weights [....", text)
        self.assertRegex(text, r"packing the weights \[#+\] 100 % of ")
        self.assertNotIn("checking packed weights", text)
        after = text.rsplit("\x1b[K", 1)[1]
        self.assertNotRegex(after, r"\[[.#]+\]")
        second = self.on_a_terminal("explain", "-m", model, "-s", self.schema, self.prompt, "-t", "1")
        self.assertEqual(second, after)

    def test_the_first_start_says_nothing_elsewhere_nor_when_quiet(self):
        model = self.quantised_model()
        self.command("explain", "-m", model, "-s", self.schema, self.prompt, "-t", "1")
        self.assertEqual(self.err, "")
        shutil.rmtree(self.cache)
        text = self.on_a_terminal("explain", "-m", model, "-s", self.schema, self.prompt, "-t", "1", "-q")
        self.assertNotIn("weights [", text)

    def quantised_model(self):
        """One whose digest may be remembered: it was not changed just now."""
        path = pathlib.Path(MODEL, "tiny_q8_0.gguf")
        time.sleep(max(0, 2.1 - (time.time() - path.stat().st_ctime)))
        return str(path)

    def test_colour_is_only_for_terminals_without_no_color(self):
        line = ["run", "-m", MODEL, "-s", self.schema, "missing.pml"]
        self.assertIn("\x1b[31merror:", self.on_a_terminal(*line, expect=1))
        self.assertNotIn("\x1b", self.on_a_terminal(*line, expect=1, NO_COLOR="1"))
        self.command(*line, expect=1)
        self.assertNotIn("\x1b", self.err)

    def test_an_answer_sends_no_control_characters_to_a_terminal(self):
        line = ["run", "-m", MODEL, "-s", self.schema, self.prompt, "-t", "1", "-n", "2000", "--temp", "3", "--seed", "1",
                "-q"]  # nothing of the first start, which the model is new enough for
        self.assertRegex(self.command(*line), r"[\x00-\x08\x0b-\x1f]")  # there are some to be kept away
        self.assertNotRegex(self.on_a_terminal(*line), r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


class Interrupts(CommandTest):
    def finish(self, process):
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        return out, err

    @contextlib.contextmanager
    def locked(self, key):
        """As by another process that encodes the module with this key."""
        with open(self.cache / "v3/locks" / key[:2], "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield

    def amid_many(self):
        """The key of a module in the second half that shares no lock with the first of all."""
        keys = [module["key"] for module in self.verb_json("check")["schema"]["modules"]]
        self.command("cache", "ls")
        return next(key for key in keys[len(keys) // 2 :] if key[:2] not in [one[:2] for one in keys[:5]])

    def test_in_the_middle_of_encode_a_sound_store_is_left(self):
        many = "".join(f'<module name="m{i}">Module number {i}: {"words " * 50}</module>' for i in range(MODULES))
        self.schema = self.write("many.pml", f'<schema name="many">{many}</schema>')
        with self.locked(self.amid_many()):  # where it waits, if it comes so far
            process = self.start("encode", "-m", MODEL, "-s", self.schema, "-t", "1")
            process.stderr.readline()  # the first module is stored
            process.send_signal(signal.SIGINT)
            self.finish(process)
        stored = len(self.json("cache", "ls")["files"])
        self.assertTrue(0 < stored < MODULES, stored)
        self.assertEqual(self.json("cache", "verify")["bad"], 0)
        rest = self.verb_json("encode", "-q")
        self.assertEqual(rest["modules_encoded"], rest["modules"] - stored)

    def test_while_another_process_encodes_the_same_module(self):
        modules = {m["path"]: m for m in self.verb_json("check")["schema"]["modules"]}
        self.verb("encode", "-q")
        self.command("cache", "rm", modules["oslo"]["key"])
        with self.locked(modules["oslo"]["key"]):
            process = self.start("encode", "-m", MODEL, "-s", self.schema, "-t", "1")
            before = process.stderr.readline()  # the last line before it waits, or an earlier one
            time.sleep(0.5)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            _, err = self.finish(process)
            self.assertLess(time.monotonic() - began, 5)
            lines = [before] + [line + "\n" for line in err.splitlines() if "/" in line]
            self.assertEqual(len(set(lines)), len(lines))  # one a module, and none for waiting
            self.assertNotIn("oslo", "".join(lines))
        self.assertEqual(self.verb_json("encode", "-q")["modules_encoded"], 1)

    def test_in_the_middle_of_an_answer(self):
        process = self.start("run", "-m", MODEL, "-s", self.schema, self.prompt, "-t", "1", "-n", "3500", "--stop",
                             "never this", errors="replace")  # what is read may begin within a character
        # It waits for room in a pipe that has less than the answer.
        fcntl.fcntl(process.stdout.fileno(), F_SETPIPE_SZ, 4096)
        self.assertTrue(os.read(process.stdout.fileno(), 1))
        process.send_signal(signal.SIGINT)
        self.finish(process)

    def test_in_the_middle_of_a_first_start_nothing_half_made_is_left(self):
        model = self.large_model(1024)
        outside, inside = pty.openpty()
        process = subprocess.Popen([COMMAND, "explain", "-m", model, "-s", self.schema, self.prompt, "-t", "1"], env=self.environment, cwd=self.dir,
                                   stdin=subprocess.PIPE, stdout=inside, stderr=inside,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        os.close(inside)
        self.assertTrue(select.select([outside], [], [], 60)[0])
        self.assertIn(b"reading the weights", os.read(outside, 1 << 16))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
        os.close(outside)
        process.stdin.close()
        self.assertEqual(self.json("cache", "verify")["bad"], 0)
        files = [p for p in self.cache.rglob("*") if p.is_file() and p.parent.name != "locks"]
        self.assertEqual(files, [])

    def large_model(self, mebibytes=192):
        """The tiny one with zeros for weights, which take no room on the disk."""
        folder = self.dir / "large"
        shutil.copytree(MODEL, folder, ignore=shutil.ignore_patterns("*.gguf", "*.safetensors"))
        config = json.loads((folder / "config.json").read_text())
        rows = mebibytes * 2**19 // (4 * config["hidden_size"])
        (folder / "config.json").write_text(json.dumps(config | {"vocab_size": rows}))
        header, end = {}, 0
        for name, shape in tensor_shapes().items():
            shape = [rows if n == VOCAB else n for n in shape]
            begin, end = end, end + 4 * math.prod(shape)
            header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(folder / "model.safetensors", "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            file.truncate(8 + len(text) + end)
        return str(folder)

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
