"""Ways of using modules for the same prompt. Each has a schema and what its session is asked.

    full            a full prefill: what the others are measured against
    none            modules as they are, each encoded behind the prompt's beginning
    self            modules that saw nothing but themselves (attend="self")
    slots           each encoded behind a document of other questions for each module before it
                    (attend="slots")
    scaffold        the imported modules encoded together: exact
    leading:N       the first N tokens of each module computed in place
    attended:P%     the P % that the question attends to most computed in place
    selected:P%     the P % whose values deviate most

ATTEND+REPAIR is both: slots+attended:10%. WAY@TYPE is the way with states of another type:
scaffold@q4.
"""

from xml.sax.saxutils import escape as escape_markup


def escape(text):
    """XML makes a carriage return a line feed where it is not spelled out."""
    return escape_markup(text, {"\r": "&#13;"})


# frame -> what stands around the modules of a schema, the instruction in it; and what stands around
# the imports of a prompt and the question behind them
SCHEMAS = {"system": "<system>{instruction}</system>{modules}",
           "user": '<user xml:space="preserve">{instruction}{modules}</user>',
           "text": '<module xml:space="preserve">{instruction}</module>{modules}'}
PROMPTS = {"system": '<prompt schema="s"><user>{body}</user></prompt>',
           "user": '<prompt schema="s" xml:space="preserve">{body}</prompt>',
           "text": '<prompt schema="s" xml:space="preserve">{body}</prompt>'}


def schema_text(made, documents, attend="prefix", scaffold=False):
    """The schema of these documents of a set, by number."""
    modules = "".join(f'<module name="d{i}" xml:space="preserve">{escape(made.documents[i])}'
                      "</module>" for i in documents)
    names = " ".join(f"d{i}" for i in documents)
    joint = f'<scaffold name="all" modules="{names}"/>' if scaffold else ""
    others = "".join(f'<stand-in xml:space="preserve">{escape(made.documents[i])}</stand-in>'
                     for i in (made.stand_ins if attend == "slots" else ()))
    body = SCHEMAS[made.frame].format(instruction=escape(made.instruction), modules=modules)
    return f'<schema name="s" attend="{attend}">{others}{body}{joint}</schema>'


def prompt_text(made, question):
    imports = "".join(f"<d{i}/>" for i in question.documents)
    return PROMPTS[made.frame].format(body=imports + escape(question.text))


def parts_of(way):
    """A way without the type of its states, and the type, None where it names none."""
    bare, _, kv = way.partition("@")
    return bare, kv or None


def attend_of(way):
    attend = way.partition("+")[0]
    return attend if attend in ("self", "slots") else "prefix"


def session_of(way):
    """What the session of a way is opened with."""
    if way == "full":
        return {"reuse": False}
    repair = way.rpartition("+")[2]
    return {"repair": repair if ":" in repair else "none"}
