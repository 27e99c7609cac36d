#!/usr/bin/env python3
"""chat: messages, commands, and a conversation that goes on after a restart."""
import json
import os
import pathlib
import re
import unittest

from command import CommandTest

LONG = "The harbour ferry of Lindby leaves at seven in the morning and at six in the evening."


class Chat(CommandTest):
    def chat(self, *lines, arguments=(), **options):
        n = () if "-n" in arguments else ("-n", "12")
        return self.verb("chat", *n, *arguments, stdin="".join(line + "\n" for line in lines), **options)

    def history(self):
        return [json.loads(line) for line in (self.dir / "c.jsonl").read_text().splitlines()]

    def counts(self):
        """(computed, reused) of each answer."""
        return [(int(c), int(r)) for c, r in re.findall(r"(\d+) computed, (\d+) reused", self.err)]

    def test_each_line_is_a_message_and_each_turn_computes_what_is_new(self):
        self.chat(LONG, "And then?", "", "Why?")
        counts = self.counts()
        self.assertEqual(len(counts), 3)
        self.assertGreaterEqual(counts[1][1], sum(counts[0]))
        self.assertLess(counts[2][0], 80)

    def test_quiet_says_nothing_but_answers(self):
        self.chat("Hello", arguments=["-q"])
        self.assertEqual(self.err, "")

    def test_a_history_is_written_and_goes_on_in_another_process(self):
        flags = ["--history", str(self.dir / "c.jsonl")]
        self.chat(LONG, arguments=[*flags, "--system", LONG + " Be brief."])
        self.assertEqual([m["role"] for m in self.history()], ["system", "user", "assistant"])
        self.assertEqual(self.history()[1]["content"], LONG)
        self.chat("Why?", arguments=flags)
        self.assertEqual(len(self.history()), 5)
        computed, reused = self.counts()[0]
        self.assertGreater(reused, 150)
        self.chat("Why?", arguments=[*flags, "--no-cache"])
        self.assertGreater(self.counts()[0][0], reused)
        self.assertEqual(len(self.history()), 7)

    def test_a_conversation_is_longer_than_its_window_where_that_may_slide(self):
        flags = ["--history", str(self.dir / "c.jsonl"), "--context", "512"]
        lines = [f"{number}: {LONG}" for number in range(20)]
        self.chat(*lines, arguments=flags, expect=1)  # its input is no person's: it ends there
        self.assertIn("window slides", self.err)
        (self.dir / "c.jsonl").unlink()
        self.chat(*lines, arguments=[*flags, "--overflow", "slide"])
        self.assertEqual(len(self.history()), 40)
        gone = [int(n) for n in re.findall(r"the oldest (\d+) turns went", self.err)]
        self.assertEqual(gone, sorted(gone))
        self.assertGreater(gone[-1], 20)
        # An answer whose window slid is drawn again, from its beginning.
        self.chat(LONG, "/again", "Why?", arguments=["-n", "700", "--context", "512", "--overflow", "slide"])
        self.assertEqual(len(self.counts()), 3)
        # In another process what is left of it is read.
        self.chat("Why?", arguments=[*flags, "--overflow", "slide"])
        self.assertEqual(len(self.history()), 42)
        self.assertRegex(self.err, r"the oldest \d+ turns went")

    def test_commands_change_the_conversation(self):
        flags = ["--history", str(self.dir / "c.jsonl")]
        self.chat("One", "Two", "/undo", "/again", "//slash", r"two \\"[:-1], "lines", arguments=flags)
        said = [m["content"] for m in self.history() if m["role"] == "user"]
        self.assertEqual(said, ["One", "/slash", "two \nlines"])
        self.chat("/new", "Other", "/undo", arguments=flags)
        self.assertEqual(self.history(), [])
        out = self.chat("/help", "/modules", "/context", "/nonsense", "/undo", "/again", "/quit", "never asked")
        self.assertIn("/use MODULE", out)
        self.assertIn("food/fish", out)
        self.assertIn("trip days=", out)
        self.assertIn("/nonsense is no command", self.err)
        self.assertEqual(self.counts(), [])

    def test_modules_are_put_into_a_message_and_reused(self):
        flags = ["--history", str(self.dir / "c.jsonl")]
        self.chat("/use trip days=3 days", "/use food/fish", "Where to?", "/use oslo", "And there?", arguments=flags)
        parts = self.history()[0]["parts"]
        self.assertEqual(parts[0], {"module": "trip", "arguments": [{"name": "days", "value": "3 days"}]})
        self.assertEqual(parts[1], {"module": "food/fish"})
        modules = len("Plan a trip of Eat well. Try the fish.")
        self.assertGreater(self.counts()[0][0], modules)  # encoded for this message
        self.assertGreater(self.counts()[1][1], modules)
        self.chat("/use trip days=3 days", "/use food/fish", "What for?")
        self.assertGreater(self.counts()[0][1], modules)
        self.chat("/use nowhere", "Where to?", expect=3)
        self.assertIn("nowhere", self.err)

    def test_a_file_that_is_no_conversation_is_refused_with_its_line(self):
        for line in ("nonsense", '{"role":"tool"}', '{"role":"user","content":[{"text":"a"}]}', '{"role":"user"}',
                     '{"role":"user","content":"a","name":"b"}', '{"role":"user","content":null}',
                     '{"role":"user","parts":[{"module":"trip","arguments":{"days":"3"}}]}'):
            text = '{"role":"user","content":"a"}\n' + line + "\n"
            path = pathlib.Path(self.write("c.jsonl", text))
            self.chat("Hi", arguments=["--history", str(path)], expect=1)
            self.assertIn("c.jsonl:2", self.err)
            self.assertEqual(path.read_text(), text)
        self.chat("Hi", arguments=["--history", str(self.dir / "none" / "c.jsonl")], expect=1)
        self.assertIn("cannot be written", self.err)
        (self.dir / "loop").symlink_to(self.dir / "loop")
        self.chat("Hi", arguments=["--history", str(self.dir / "loop")], expect=1)
        self.assertIn("loop cannot be read", self.err)
        # What is no file stays what it is: /dev/null, by a name that may be lost.
        os.mkfifo(self.dir / "pipe")
        for path in (self.dir, self.dir / "pipe"):
            self.chat("Hi", arguments=["--history", str(path)], expect=2)
            self.assertIn("without --history", self.err)
        self.assertTrue((self.dir / "pipe").is_fifo())

    def test_a_link_to_a_history_stays_one(self):
        (self.dir / "there").mkdir()
        (self.dir / "there/kept.jsonl").touch()
        (self.dir / "c.jsonl").symlink_to("there/kept.jsonl")
        self.chat("Hi", arguments=["--history", str(self.dir / "c.jsonl")])
        self.assertTrue((self.dir / "c.jsonl").is_symlink())
        self.assertEqual(len(self.history()), 2)
        self.assertEqual(os.listdir(self.dir / "there"), ["kept.jsonl"])

    def test_nothing_that_was_said_is_lost(self):
        flags = ["--history", str(self.dir / "c.jsonl")]
        self.write("c.jsonl", '{"content":"my question","role":"user"}\n')
        self.chat("/again", arguments=flags)
        self.assertEqual([m["role"] for m in self.history()], ["user", "assistant"])
        self.assertEqual(self.history()[0]["content"], "my question")
        before = self.history()
        self.chat("/new", "/quit", arguments=flags)
        self.assertEqual(self.history(), [])
        self.assertEqual([json.loads(line) for line in (self.dir / "c.jsonl.1").read_text().splitlines()], before)
        self.assertIn("c.jsonl.1", self.err)


if __name__ == "__main__":
    unittest.main(argv=["command_chat_test"])
