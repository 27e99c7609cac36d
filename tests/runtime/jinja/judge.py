"""Jinja2 as transformers sets it up: the judge of runtime/jinja/.

Written after the documented behaviour of transformers' chat templates, so that no
test needs transformers itself: the immutable sandbox, trim_blocks and
lstrip_blocks, loop controls, {% generation %}, raise_exception, strftime_now and
a tojson that is json.dumps.
"""
import copy
import datetime
import json
import os
import sys
import warnings

try:
    import jinja2
except ImportError:  # the build's Python may be another than the system's
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B", *sys.argv])
    print("skipped: no jinja2 for Python (Debian: python3-jinja2)")
    sys.exit(77)
import jinja2.ext
import jinja2.sandbox

TIME = 1721990645  # 26 July 2024, 10:44:05 UTC


class Raised(Exception):
    """raise_exception() of a template."""


class Generation(jinja2.ext.Extension):
    """{% generation %}: marks what the assistant wrote, and changes nothing of it."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_call"), [], [], body).set_lineno(line)

    def _call(self, caller):
        return caller()


def raise_exception(message):
    raise Raised(str(message))


def strftime_now(form):
    return datetime.datetime.fromtimestamp(TIME, datetime.timezone.utc).replace(tzinfo=None).strftime(form)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    made = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = tojson
    made.globals.update(raise_exception=raise_exception, strftime_now=strftime_now)
    return made


warnings.simplefilter("ignore", SyntaxWarning)  # of Python, about what Jinja made of a template
ENVIRONMENT = environment()
COMPILED = {}


def render(case):
    """{"text": ...}, {"raised": ...} or {"error": ...} for a case of render_cases.cc."""
    tokens = {f"{name}_token": case[name] for name in ("bos", "eos") if case.get(name)}
    variables = {"messages": case.get("messages"), "tools": case.get("tools"), "documents": None,
                 "add_generation_prompt": bool(case.get("add_generation_prompt")), **tokens,
                 **(case.get("variables") or {})}
    variables = copy.deepcopy(variables)  # `list|indent` changes its list, sandbox or not
    try:
        text = case["template"]
        if text not in COMPILED:
            COMPILED[text] = ENVIRONMENT.from_string(text)
        out = COMPILED[text].render(**variables)
        out.encode()  # a lone half of a surrogate pair is no text
        return {"text": out}
    except Raised as raised:
        return {"raised": str(raised)}
    except Exception as error:  # whatever Python says: an error is an error
        return {"error": f"{type(error).__name__}: {error}"}
