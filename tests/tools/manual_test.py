#!/usr/bin/env python3
"""The manual and the completions of shells say what --help says.

    manual_test.py COMMAND FOLDER    FOLDER: what tools/manual/manual.cc wrote

--help is what they are held against, verb by verb. Each shell that is here completes lines.
"""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

COMMAND, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
ENTRY = re.compile(r"^  (\S.*?)(?:  +(\S.*))?$")
NAMES = {"(ti": "~", "(aq": "'", "(ga": "`", "(ha": "^", "-": "-", "e": "\\", "&": "", "fB": "", "fI": "", "fR": ""}


def entries(text, title):
    """What stands under a title of --help: the left side -> the right one, unfolded."""
    found, left = {}, None
    for line in re.search(rf"^{title}:\n((?:  .*\n)*)|\Z", text, re.M).group(0).splitlines()[1:]:
        if line.startswith(" " * 30):
            found[left] = (found[left] + " " + line.strip()).strip()
        else:
            left, right = ENTRY.match(line).groups()
            found[left] = right or ""
    return found


def help_of(verb):
    return subprocess.run([COMMAND, *verb, "--help"], check=True, capture_output=True, text=True).stdout


def all_verbs(verb=()):
    yield verb
    for name in entries(help_of(verb), "Verbs"):
        yield from all_verbs((*verb, name))


VERBS = list(all_verbs())


def page_of(verb):
    return FOLDER / "man1" / ("-".join(("promptcache", *verb)) + ".1")


def as_read(path):
    """The text of a page, as man(1) shows it but for the lines' breaks."""
    return re.sub(r"\\(\(..|f.|.)", lambda name: NAMES[name.group(1)], path.read_text())


class Manual(unittest.TestCase):
    def test_every_verb_has_a_page_and_no_other_has(self):
        self.assertGreater(len(VERBS), 10)
        self.assertEqual(sorted(map(page_of, VERBS)), sorted((FOLDER / "man1").iterdir()))

    def test_a_page_says_all_that_help_says(self):
        for verb in VERBS:
            text, page = help_of(verb), as_read(page_of(verb))
            for title in ("Positionals", "Options"):
                for left, right in entries(text, title).items():
                    self.assertIn(f".TP\n{left}\n{right}\n", page, verb)
            for name, right in entries(text, "Verbs").items():
                self.assertIn(f".TP\n{' '.join(('promptcache', *verb, name))}\n{right}\n", page, verb)
            self.assertIn(re.search(r"^Usage: (.*)$", text, re.M).group(1), page)
            for line in text.split("\n\n")[-1].splitlines()[1:]:
                self.assertIn(line.strip(), page)

    def test_the_page_of_options_is_what_help_says_now(self):
        page = pathlib.Path(__file__).parents[2] / "docs/OPTIONS.md"
        made = FOLDER / "OPTIONS.md"
        self.assertEqual(page.read_text(), made.read_text(), f"cp {made} {page}")

    def test_pages_refer_to_pages(self):
        for path in (FOLDER / "man1").iterdir():
            for name in re.findall(r"^(\S+)\(1\)", as_read(path), re.M):
                self.assertTrue((FOLDER / "man1" / f"{name}.1").exists(), name)

    @unittest.skipUnless(shutil.which("man") and shutil.which("groff"), "man is not installed")
    def test_man_has_no_warning(self):
        for verb in VERBS:
            done = subprocess.run(["man", "--warnings", "-l", page_of(verb)], capture_output=True, text=True,
                                  env={**os.environ, "LC_ALL": "C.UTF-8"})
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_mandoc_has_no_warning(self):
        """But for the date, which would differ from build to build."""
        for verb in VERBS:
            done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page_of(verb)],
                                  capture_output=True, text=True)
            found = [line for line in (done.stdout + done.stderr).splitlines() if "missing date" not in line]
            self.assertEqual(found, [])


# The beginning of a line -> what may come next: all of it where it is a list, else some.
LINES = {
    "promptcache ca": ["cache"],
    "promptcache cache ": ["export", "gc", "import", "ls", "pin", "pull", "push", "rm", "show", "sign", "unpin", "verify"],
    "promptcache cache rm --a": ["--all"],
    "promptcache run --kv-type ": ["bf16", "f32", "q4", "q8"],
    "promptcache run -m tw": ["two.gguf"],
    "promptcache run -s g": ["guide.pml"],
    "promptcache run g": ["guide.pml"],
    "promptcache model info tw": ["two.gguf"],
    "promptcache run --cache-dir ": ["store"],
    "promptcache run -n ": [],
    "promptcache bench com": ["compare"],
    "promptcache bench tw": ["two.gguf"],
    "promptcache bench -p 16 tw": ["two.gguf"],
    "promptcache bench compare g": ["guide.pml"],
    "promptcache bench compare --fail": ["--fail-slower"],
    "promptcache bench -fa ": ["-1", "0", "1", "auto", "disabled", "enabled", "false", "off", "on", "true"],
    "promptcache bench -ctk bf": ["bf16"],
}
BASH = r"""
source "$1"
COMP_WORDS=()
for word in "${@:2}"; do COMP_WORDS+=("$word"); done
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_promptcache
printf '%s\n' "${COMPREPLY[@]}"
"""
READY = "re''ady"  # typed so that its echo is not yet the word


class Completion(unittest.TestCase):
    FILES = {"bash": FOLDER / "bash/promptcache", "zsh": FOLDER / "zsh/_promptcache",
             "fish": FOLDER / "fish/promptcache.fish"}

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="manual_test."))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "store").mkdir()
        for name in ("guide.pml", "two.gguf"):
            (self.folder / name).touch()

    def test_every_long_option_is_offered_where_help_has_it(self):
        for verb in VERBS:
            options = [re.search(r"--[a-z-]+", left).group(0) for left in entries(help_of(verb), "Options")]
            self.assertIn("--help", options)
            self.assertLessEqual(set(options), set(self.bash("promptcache", *verb, "--")))
            fish = self.FILES["fish"].read_text()
            rules = re.findall(rf"__promptcache_verb_is {' '.join(('promptcache', *verb))}'(?: -s .)?(?: -o \S+)* -l (\S+)", fish)
            self.assertEqual(sorted(options), sorted("--" + rule for rule in rules))
            function = re.search(rf"^{'_'.join(('_promptcache', *verb))}\(\).*?^}}", self.FILES["zsh"].read_text(),
                                 re.M | re.S).group(0)
            self.assertEqual(set(options), set(re.findall(r"[)*](--[a-z-]+)=?\[", function)))

    def bash(self, *words):
        done = subprocess.run(["bash", "-c", BASH, "bash", self.FILES["bash"].resolve(), *words], check=True,
                              capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.stderr, "")
        return sorted(done.stdout.split())

    def test_bash(self):
        for line, expected in LINES.items():
            self.assertEqual(self.bash(*line.split(" ")), expected, line)
        self.assertEqual(self.bash("promptcache", "bench", "-nk"), ["-nkvo"])  # which fish takes for letters
        self.assertEqual(self.bash("promptcache", "run", "--kv-type", "=", "b"), ["bf16"])
        self.assertEqual(self.bash("promptcache", "run", "--kv-type", "="), ["bf16", "f32", "q4", "q8"])

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        home = {**os.environ, "HOME": str(self.folder), "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": ""}
        for line, expected in LINES.items():
            done = subprocess.run(["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
                                   self.FILES["fish"].resolve(), line], check=True, capture_output=True, text=True,
                                  cwd=self.folder, env=home)
            self.assertEqual(sorted(row.split("\t")[0].rstrip("/") for row in done.stdout.splitlines()), expected, line)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        for line, expected in LINES.items():
            for word in expected:
                self.zsh(line, word)

    def zsh(self, line, word):
        """Types a line and two tabs, as completion is for terminals alone, until the word shows."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.environ.update(TERM="dumb", LC_ALL="C.UTF-8")
            os.execvp("zsh", ["zsh", "-f", "-i"])
        try:
            os.write(terminal, f"PS1= fpath=({self.FILES['zsh'].resolve().parent} $fpath); autoload -Uz compinit; "
                               f"compinit -D -u; echo {READY}\n".encode())
            self.shows(terminal, "ready")
            begun = line.rsplit(" ", 1)[1]
            os.write(terminal, f"{line}\t\t".encode())
            self.shows(terminal, word if not begun else word[len(begun):])
        finally:
            os.close(terminal)
            os.waitpid(child, 0)

    def shows(self, terminal, word):
        seen, deadline = "", time.monotonic() + 60
        while word not in seen:
            ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
            self.assertTrue(ready, f"no {word!r} in {seen!r}")
            seen += os.read(terminal, 65536).decode(errors="replace")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
