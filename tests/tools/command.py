"""Runs the promptcache command as a user does: what the tests of it share.

    command_..._test.py COMMAND TINY_MODEL

TINY_MODEL is a folder made by tiny_model.py; one token of it is one byte.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

COMMAND, MODEL = sys.argv[1:3]
SOURCE = pathlib.Path(os.environ.get("PC_SOURCE_DIR", pathlib.Path(__file__).parents[2]))

SCHEMA = """<schema name="guide">
  <system>You are a guide.</system>
  <module name="trip">Plan a trip of <param name="days" len="8"/> for one.</module>
  <union>
    <module name="oslo">Oslo lies by the fjord.</module>
    <module name="rome" cache="false">Rome lies by the river.</module>
  </union>
  <module name="food">Eat well. <module name="fish">Try the fish.</module></module>
  <scaffold name="both" modules="trip oslo"/>
</schema>
"""
PROMPTS = {
    "all": '<prompt schema="guide"><trip days="3 days"/><oslo/><food><fish/></food><user>Where to?</user></prompt>',
    "uncached": '<prompt schema="guide"><rome/><user>Where to?</user></prompt>',
    "nothing": '<prompt schema="guide"><user>Hello!</user></prompt>',
    "ends with a module": '<prompt schema="guide">Read this:<food/></prompt>',
    "text between": '<prompt schema="guide"><trip/>And then: <food>first this: <fish/></food><user>So?</user></prompt>',
}


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="command_test."))
        self.addCleanup(shutil.rmtree, self.dir)
        self.cache = self.dir / "cache"
        self.schema = self.write("guide.pml", SCHEMA)
        self.prompt = self.write("prompt.pml", PROMPTS["all"])
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("PROMPTCACHE_")}
        # The model is tiny: more threads would only wait for each other.
        self.environment |= {"PROMPTCACHE_CACHE_DIR": str(self.cache), "OMP_NUM_THREADS": "1"}

    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return str(path)

    def start(self, *arguments, **options):
        # A Ctrl-C that the caller of this test ignores must reach the command all the same.
        return subprocess.Popen([COMMAND, *arguments], env=self.environment, cwd=self.dir, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options)

    def command(self, *arguments, expect=0, stdin=""):
        process = self.start(*arguments, stdin=subprocess.PIPE)
        try:
            out, err = process.communicate(stdin, timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        self.assertEqual(process.returncode, expect, f"{arguments}\n{out}\n{err}")
        self.out, self.err = out, err
        return out

    def engine(self, verb, *arguments, **options):
        return self.command(verb, "-m", MODEL, "-t", "1", *arguments, **options)

    def verb(self, verb, *arguments, **options):
        return self.engine(verb, "-s", self.schema, *arguments, **options)

    def json(self, *arguments, **options):
        return json.loads(self.command(*arguments, "--json", **options))

    def verb_json(self, verb, *arguments, **options):
        return json.loads(self.verb(verb, *arguments, "--json", **options))
