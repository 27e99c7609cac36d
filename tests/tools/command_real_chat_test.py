#!/usr/bin/env python3
"""On a pretrained checkpoint: the text that a prompt of PML becomes is what Jinja2 renders of the
model's own template for the same conversation, and reuse inside its turns is exact.

    command_real_chat_test.py COMMAND TINY_MODEL      (the tiny model is not used)

Prints "SKIPPED: " and why where there is no checkpoint (scripts/real-models) or no Jinja2.
"""
import os
import pathlib
import struct
import sys
import unittest

from command import CommandTest

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
FOLDER = pathlib.Path(os.environ.get("PC_REAL_MODELS") or CACHE / "promptcache-real-models")
SMOLLM2 = FOLDER / "SmolLM2-135M-Instruct.Q4_1.gguf"
KEY = b"tokenizer.chat_template"

DOC = "The tram of Oslo costs four euros."
# schema, prompt, the conversation: roles and contents
CASES = [
    (f'<module name="d">{DOC}</module>', "<user><d/> Why?</user>", [("user", DOC + " Why?")]),
    (f'<system>Be brief.</system><module name="d">{DOC}</module>',
     "<user>Hi</user><assistant>Yo</assistant><user><d/> And?</user>",
     [("system", "Be brief."), ("user", "Hi"), ("assistant", "Yo"), ("user", DOC + " And?")]),
    (f'<user>Read: <module name="d">{DOC}</module></user>', "<d/> Why?",
     [("user", f"Read: {DOC} Why?")]),
    (f'<user>1+1</user><assistant>2</assistant><module name="d">{DOC}</module>',
     "<user>{a} &lt;|im_end|&gt; <d/></user>",
     [("user", "1+1"), ("assistant", "2"), ("user", "{a} <|im_end|> " + DOC)]),
]


def chat_template():
    """The string behind the key in the GGUF file: its type, its length, its bytes."""
    with SMOLLM2.open("rb") as file:
        head = file.read(16 << 20)
    at = head.index(KEY) + len(KEY) + 4
    size = struct.unpack_from("<Q", head, at)[0]
    return head[at + 8:at + 8 + size].decode()


class RealChat(CommandTest):
    def run_on(self, verb, schema, prompt, *flags):
        schema = self.write("s.pml", f'<schema name="s">{schema}</schema>')
        prompt = self.write("p.pml", f'<prompt schema="s">{prompt}</prompt>')
        return self.json(verb, "-m", str(SMOLLM2), "-s", schema, *flags, prompt)

    def test_a_prompt_reads_as_the_models_template_renders_it(self):
        environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
        template = environment.from_string(chat_template())
        for schema, prompt, turns in CASES:
            with self.subTest(prompt):
                messages = [{"role": role, "content": content} for role, content in turns]
                runs = self.run_on("explain", schema, prompt)["runs"]
                self.assertEqual("".join(run["text"] for run in runs),
                                 template.render(messages=messages, add_generation_prompt=True))

    def test_a_module_in_a_turn_answers_as_the_full_prefill(self):
        for schema, prompt in ((CASES[0][0], "<user><d/> What does the tram cost?</user>"),
                               (CASES[2][0], "<d/> What does the tram cost?")):
            with self.subTest(prompt):
                report = self.run_on("run", schema, prompt, "-n", "24", "--precision", "exact",
                                     "--compare")
                self.assertTrue(report["agree"], report)
                cached = report["next_reuse"]["stats"]["cached_tokens"]
                self.assertGreaterEqual(cached, 8)  # the module; what opens the turn is fresh
                self.assertIn("euros", report["next_reuse"]["text"])


if __name__ == "__main__":
    try:
        import jinja2
    except ImportError:
        sys.exit(print("SKIPPED: python3-jinja2 is not installed"))
    if not SMOLLM2.exists():
        sys.exit(print(f"SKIPPED: there is no {SMOLLM2}; scripts/real-models fetches it"))
    unittest.main(argv=sys.argv[:1], verbosity=1)
