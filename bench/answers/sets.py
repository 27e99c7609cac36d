"""The sets by name: published ones, those of LongBench, and generated ones."""

from pathlib import Path

import generated
import longbench
import published

MOST_STAND_INS = 16  # of a schema
DOCUMENTS = 4  # of a question, where the set leaves it open
LONGBENCH = "longbench:"
NAMES = (*published.READERS, *generated.MAKERS, *(LONGBENCH + task for task in longbench.TASKS))


def existing(folder, name):
    if not (folder and Path(folder).is_dir()):
        raise FileNotFoundError(f"the set {name} is read from a folder of published data: name it "
                                "with --data")
    return Path(folder)


def stand_ins_of(others, asked):
    """Documents of other questions, most of them in no prompt: at most as many as a schema has."""
    used = {d for question in asked for d in question.documents}
    found = list(dict.fromkeys(d for question in others for d in question.documents))
    return tuple(([d for d in found if d not in used] or found)[:MOST_STAND_INS])


def read(name, folder, n_documents, n):
    """The first n questions of a set. folder: of published data, or None; n_documents: None for
    DOCUMENTS. OSError, ValueError: why there is no such set."""
    if name in generated.MAKERS:
        made = generated.make(name, n_documents or DOCUMENTS)
    elif name in published.READERS:
        made = published.READERS[name](existing(folder, name), n_documents or DOCUMENTS)
    elif name.startswith(LONGBENCH):
        if n_documents:
            raise ValueError("questions of LongBench have the documents that they have: leave "
                             "--documents out")
        made = longbench.read(existing(folder, name), name.removeprefix(LONGBENCH))
    else:
        raise ValueError(f"no set {name}; there are {', '.join(NAMES)}")
    others = made.questions[n:] or made.questions[-1:]
    made.questions = made.questions[:n]
    made.stand_ins = stand_ins_of(others, made.questions)
    return made
