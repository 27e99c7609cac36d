#!/usr/bin/env python3
"""Uses the installed package as a stranger would.

    consume.py BUILD SOURCE GENERATOR C_COMPILER [TOOLCHAIN_FILE SYSROOT EMULATOR...]

Installs the build tree into a scratch prefix, moves that elsewhere, looks at what came,
builds the installed examples through find_package and once more through pkg-config, as strict
C99, and runs the result; with the demo model, if it is in the tree, up to an answer.
The last operands are those of a cross build. Whether libpromptcache.a came too is no
matter here: consume_static.py uses it.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

STRICT = "-std=c99 -pedantic -Wall -Wextra -Werror"


def run(*command, status=0, **more):
    print("+", " ".join(command), flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    print(done.stdout, flush=True)
    if done.returncode != status:
        sys.exit(f"{command[0]} ended with {done.returncode}, not {status}")
    return done.stdout


def check(true, sentence):
    if not true:
        sys.exit(sentence)


def only(pattern):
    found = glob.glob(pattern, recursive=True)
    check(len(found) == 1, f"{pattern}: expected one file, found {found}")
    return found[0]


def inspect(prefix):
    for name in ("include/promptcache/promptcache.h", "lib*/**/libpromptcache.so",
                 "lib*/**/cmake/promptcache/promptcacheConfig.cmake", "lib*/**/pkgconfig/promptcache.pc"):
        only(os.path.join(prefix, name))
    targets = only(os.path.join(prefix, "lib*/**/promptcacheTargets.cmake"))
    with open(targets, encoding="utf-8") as file:
        check("INTERFACE_LINK_LIBRARIES" not in file.read(), f"{targets}: a private library leaks to users")
    archives = glob.glob(os.path.join(prefix, "**/*.a"), recursive=True)
    check(all(path.endswith("/libpromptcache.a") for path in archives), f"a part is installed as a library: {archives}")


LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def inspect_documents(folder):
    """What there is to read, and that no link between its pages is dead."""
    for name in ("LICENSE", "CHANGELOG.md", "docs/PML.md", "docs/CONSTRAINED.md", "docs/CHAT_TEMPLATES.md",
                 "docs/MODELS.md", "examples/hello.c", "examples/city-guide/city-guide.pml"):
        only(os.path.join(folder, name))
    check(os.access(only(os.path.join(folder, "examples/home-assistant/ask.py")), os.X_OK), "a script cannot be run")
    check(not glob.glob(os.path.join(folder, "**/__pycache__"), recursive=True), "what Python compiled is installed")
    for page in glob.glob(os.path.join(folder, "**/*.md"), recursive=True):
        with open(page, encoding="utf-8") as file:
            links = [link for link in LINK.findall(file.read()) if "://" not in link]
        for link in links:
            check(os.path.exists(os.path.join(os.path.dirname(page), link)), f"{page}: a dead link: {link}")


def install(build, scratch):
    """Into one folder, which is then another: what remembers the first is found out."""
    first, prefix = os.path.join(scratch, "first"), os.path.join(scratch, "prefix")
    run("cmake", "--install", build, "--prefix", first)
    os.rename(first, prefix)
    return prefix


def pkg_config(prefix, package):
    found = os.path.dirname(only(os.path.join(prefix, f"lib*/**/{package}.pc")))
    return run("pkg-config", "--cflags", "--libs", package, env={**os.environ, "PKG_CONFIG_PATH": found}).split()


def try_hello(hello, source, scratch):  # hello: a command line
    environment = {**os.environ, "XDG_CACHE_HOME": scratch}
    check("usage" in run(*hello, status=2, env=environment), "no usage line")
    prompt = os.path.join(source, "examples/hello.c")  # any file: the model is missed first
    sentence = run(*hello, os.path.join(scratch, "no-model"), "schema", prompt, status=1, env=environment)
    check("no-model" in sentence, "the error does not name the missing model")
    model = os.path.join(source, "models/city-guide")
    example = os.path.join(source, "examples/city-guide")
    if not os.path.exists(os.path.join(model, "config.json")):
        return print("skipped: models/city-guide is not in this tree")
    schema, prompt = (os.path.join(example, name) for name in ("city-guide.pml", "one-page.pml"))
    encodes, maps = (run(*hello, model, schema, prompt, env=environment) for _ in range(2))
    check(encodes.strip() and encodes == maps, "the answer is empty, or another once the modules are on disk")


def try_chat(chat, source, scratch):
    """The demo model was trained on one question a prompt: that there is an answer to each is all
    that is asked of it here."""
    example = os.path.join(source, "examples/city-guide")
    model = os.path.join(source, "models/city-guide")
    if not os.path.exists(os.path.join(model, "config.json")):
        return  # try_hello says so
    schema, prompt = (os.path.join(example, name) for name in ("city-guide.pml", "one-page.pml"))
    environment = {**os.environ, "XDG_CACHE_HOME": os.path.join(scratch, "cache")}
    lines = run(*chat, model, schema, prompt, env=environment, input="What does it cost?\nAnd then?\n")
    check(len(lines.splitlines()) == 3, f"not an answer to each of three turns: {lines!r}")


def try_batch(batch, source, scratch):
    example, model = os.path.join(source, "examples/city-guide"), os.path.join(source, "models/city-guide")
    if not os.path.exists(os.path.join(model, "config.json")):
        return
    environment = {**os.environ, "XDG_CACHE_HOME": os.path.join(scratch, "cache")}
    facts = {"What does the tram of Vienna cost?": "six euros", "When does the museum of Vienna open?": "eleven"}
    lines = run(*batch, model, os.path.join(example, "city-guide.pml"), "vienna", *facts,
                env=environment).splitlines()
    check([line.startswith(q) and a in line for line, (q, a) in zip(lines, facts.items())] == [True, True],
          f"not the answers of the page: {lines!r}")


def try_choice(choice, source, scratch):
    model = os.path.join(source, "models/city-guide")
    if not os.path.exists(os.path.join(model, "config.json")):
        return
    environment = {**os.environ, "XDG_CACHE_HOME": os.path.join(scratch, "cache")}
    said = {run(*choice, model, "What does it cost?", *choices, env=environment).strip()
            for choices in (["six euros", "two euros"], ["two euros", "six euros"])}
    check(len(said) == 1 and said <= {"six euros", "two euros"}, f"not one of the choices: {said!r}")


def try_resume(resume, source, scratch):
    """A conversation of three processes: the second and the third compute what is new of it alone."""
    model = os.path.join(source, "models/city-guide")
    if not os.path.exists(os.path.join(model, "config.json")):
        return
    environment = {**os.environ, "XDG_CACHE_HOME": os.path.join(scratch, "cache")}
    said = os.path.join(scratch, "said")
    there = []
    for question in ("What does the tram of Vienna cost, and when does its museum open?", "And the one of Oslo?", "Why?"):
        told = run(*resume, model, said, question, env=environment)
        tokens, found = map(int, re.search(r"(\d+) tokens, of which (\d+) were there", told).groups())
        check(found < tokens, f"more was there than is read: {told!r}")
        there.append(found)
    check(there[0] == 0 < there[1] < there[2], f"what was computed is not found again: {there}")
    with open(said, encoding="utf-8") as file:
        check(file.read().count("\0") == 6, "three questions and answers are not what was written down")
    with open(said, "a", encoding="utf-8") as file:
        file.write("half a turn\0")
    check("no conversation" in run(*resume, model, said, "Why?", status=1, env=environment), "a damaged file is taken")


def main():
    build, source, generator, compiler, *cross = sys.argv[1:]
    toolchain, sysroot, *emulator = cross or ("", "")
    root = [f"--sysroot={sysroot}"] if cross else []
    with open(os.path.join(source, "examples/hello.c"), encoding="utf-8") as file:
        check(len(file.readlines()) <= 25, "examples/hello.c has more than 25 lines")
    with tempfile.TemporaryDirectory() as scratch:
        prefix, consumer = install(build, scratch), os.path.join(scratch, "consumer")
        inspect(prefix)
        documents = os.path.join(prefix, "share/doc/promptcache")
        inspect_documents(documents)
        run("cmake", "-S", os.path.join(documents, "examples"), "-B", consumer, "-G", generator,
            f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={compiler}", f"-DCMAKE_C_FLAGS={STRICT}",
            *([f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", f"-DPC_SYSROOT={sysroot}",
               "-DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=BOTH"] if cross else []))
        run("cmake", "--build", consumer)
        try_hello([*emulator, os.path.join(consumer, "hello")], source, scratch)
        try_chat([*emulator, os.path.join(consumer, "chat")], source, scratch)
        try_batch([*emulator, os.path.join(consumer, "batch")], source, scratch)
        try_resume([*emulator, os.path.join(consumer, "resume")], source, scratch)
        try_choice([*emulator, os.path.join(consumer, "choice")], source, scratch)

        hello = os.path.join(scratch, "hello")
        library = os.path.dirname(only(os.path.join(prefix, "lib*/**/libpromptcache.so")))
        run(compiler, *STRICT.split(), *root, os.path.join(source, "examples/hello.c"),
            *pkg_config(prefix, "promptcache"), f"-Wl,-rpath,{library}", "-o", hello)
        run(*emulator, hello, status=2)

        command = os.path.join(prefix, "bin/promptcache")
        if os.path.exists(command):  # finds its library beside it
            run(*emulator, command, "version")
            for name in ("man/man1/promptcache-run.1", "bash-completion/completions/promptcache",
                         "zsh/site-functions/_promptcache", "fish/vendor_completions.d/promptcache.fish"):
                only(os.path.join(prefix, "share", name))


if __name__ == "__main__":
    main()
