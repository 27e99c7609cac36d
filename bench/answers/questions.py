"""Questions with documents: what is asked, of which documents, and what is right.

Every document is a module; a question imports some, in its own order."""

import dataclasses

INSTRUCTION = "Answer the question from the documents, in as few words as possible."
SHORT = ("contains", "em", "f1")


@dataclasses.dataclass
class Question:
    key: str
    documents: list  # indices into the set's documents, in the order in which they stand
    text: str        # behind the documents
    golds: list
    n_tokens: int = 24
    classes: tuple = ()  # where the answer is one of these


@dataclasses.dataclass
class Set:
    name: str
    documents: list  # texts
    questions: list
    metrics: tuple = SHORT  # of scores.METRICS; the first is the set's own
    instruction: str = INSTRUCTION
    # Where the instruction stands: "system" in a turn of its own; "user" in the user's turn, in
    # front of the documents; "text" in front of them, without any turn.
    frame: str = "system"
    first_line: bool = False  # what counts of an answer
    # Indices into the set's documents: of questions that are not asked, or of the last one.
    stand_ins: tuple = ()


def asked(question):
    return f"Question: {question}"


def passages(name, items, metrics=SHORT):
    """Questions that bring their own passages: [(key, passages, question, golds)]."""
    documents, questions = [], []
    for key, texts, question, golds in items:
        chosen = list(range(len(documents), len(documents) + len(texts)))
        documents += [f"Document: {text}\n\n" for text in texts]
        questions.append(Question(key, chosen, asked(question), golds))
    return Set(name, documents, questions, metrics)


def in_text(made):
    """The same set without turns, for models that are not tuned for any: the question ends where an
    answer begins, and its first line is what counts. ValueError: the set brings its own format."""
    if made.frame != "system":
        raise ValueError(f"{made.name} brings its own format: leave --frame out")
    questions = [dataclasses.replace(q, text=f"{q.text}\nAnswer:") for q in made.questions]
    return dataclasses.replace(made, questions=questions, frame="text", first_line=True,
                               instruction=f"{made.instruction}\n\n")
