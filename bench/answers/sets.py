"""Questions with documents: what is asked, of which documents, and what is right.

A set is read from a folder of published data (--data) or generated here. Every document is a module;
a question imports some, in its own order. Nothing of the data is part of the project."""

import dataclasses
import json
import random
from pathlib import Path

INSTRUCTION = "Answer the question from the documents, in as few words as possible."
SHORT = ("contains", "em", "f1")


@dataclasses.dataclass
class Question:
    key: str
    documents: list  # indices into the set's documents, in the order in which they stand
    text: str        # behind the documents
    golds: list
    n_tokens: int = 24


@dataclasses.dataclass
class Set:
    name: str
    documents: list  # texts
    questions: list
    metrics: tuple = SHORT
    instruction: str = INSTRUCTION


def asked(question):
    return f"Question: {question}"


def squad(folder, n_documents):
    """A paragraph that holds the answer among others of the set, drawn with a fixed seed."""
    data = json.loads((folder / "squad_v2_dev_100_paragraphs.json").read_text())
    documents = [f"Document: {p['context']}\n\n" for p in data]
    draw, questions = random.Random(7), []
    for i, paragraph in enumerate(data):
        for qa in paragraph["qas"]:
            if qa["impossible"]:
                continue
            others = draw.sample([j for j in range(len(data)) if j != i], n_documents - 1)
            chosen = others + [i]
            draw.shuffle(chosen)
            questions.append(Question(qa["id"], chosen, asked(qa["question"]),
                                      sorted(set(qa["answers"]))))
    draw.shuffle(questions)
    return Set("squad", documents, questions)


def passages(name, items):
    """Questions that bring their own passages: [(key, passages, question, golds)]."""
    documents, questions = [], []
    for key, texts, question, golds in items:
        chosen = list(range(len(documents), len(documents) + len(texts)))
        documents += [f"Document: {text}\n\n" for text in texts]
        questions.append(Question(key, chosen, asked(question), golds))
    return Set(name, documents, questions)


def hotpot(folder, n_documents):
    """The two paragraphs that are needed among others of the question's ten."""
    items, draw = [], random.Random(7)
    for q in json.loads((folder / "hotpot_dev_distractor_26.json").read_text()):
        needed = {title for title, _ in q["supporting_facts"]}
        texts = {title: f"{title}. {''.join(sentences)}" for title, sentences in q["context"]}
        others = [title for title in texts if title not in needed]
        chosen = [t for t in texts if t in needed] + others[:max(0, n_documents - len(needed))]
        draw.shuffle(chosen)
        items.append((q["_id"], [texts[t] for t in chosen], q["question"], [q["answer"]]))
    return passages("hotpot", items)


def musique(folder, n_documents):
    """As CacheBlend measures it: the first of ten passages, one behind the other."""
    data = json.loads((folder / "musique_75.json").read_text())
    return passages("musique", [(str(i), [c["text"] for c in q["ctxs"][:n_documents]],
                                 q["question"], q["answers"]) for i, q in enumerate(data)])


NAMES = ("Ada", "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Hugo", "Irene", "Jonas",
         "Karin", "Leon", "Maria", "Nils", "Olga", "Peter", "Quentin", "Rosa", "Simon", "Thea")
TOWNS = ("Paris", "Oslo", "Rome", "Madrid", "Vienna", "Prague", "Dublin", "Lisbon", "Athens",
         "Berlin", "Warsaw", "Helsinki")
THINGS = ("a red bicycle", "an old piano", "a white boat", "a green car", "a silver watch",
          "a brown horse", "a blue lamp", "a black umbrella")
FILLER = ("The weather was mild that year and the trains ran on time. ",
          "Many people visited the market on Saturday mornings. ",
          "The library opened a new reading room in the spring. ",
          "A small orchestra played in the park until late. ",
          "The bridge was painted again after a long discussion. ")


def filled(draw, sentence, n):
    """A sentence somewhere among n that say nothing."""
    text = [draw.choice(FILLER) for _ in range(n)]
    text.insert(draw.randrange(n + 1), sentence + " ")
    return "".join(text)


def generated(name, n, make):
    draw = random.Random(11)
    return passages(name, [(str(i), *make(draw)) for i in range(n)])


def single(_, n_documents):
    """One fact, in one of the documents."""
    def make(draw):
        names, towns = draw.sample(NAMES, n_documents), draw.sample(TOWNS, n_documents)
        texts = [filled(draw, f"{a} lives in {b}.", 4) for a, b in zip(names, towns)]
        i = draw.randrange(n_documents)
        return texts, f"Where does {names[i]} live?", [towns[i]]
    return generated("single", 400, make)


def two_hop(_, n_documents):
    """What one document says leads to another."""
    def make(draw):
        n = n_documents // 2
        owners = draw.sample(NAMES, n)
        towns, things = draw.sample(TOWNS, n), draw.sample(THINGS, n)
        texts = [filled(draw, f"{t.capitalize()} belongs to {a}.", 3)
                 for t, a in zip(things, owners)]
        texts += [filled(draw, f"{a} lives in {b}.", 3) for a, b in zip(owners, towns)]
        draw.shuffle(texts)
        i = draw.randrange(n)
        return texts, f"In which town lives the owner of {things[i]}?", [towns[i]]
    return generated("two_hop", 400, make)


def coreference(_, n_documents):
    """A document that goes on where the one before it ends."""
    def make(draw):
        names = draw.sample(NAMES, n_documents - 1)
        towns = draw.sample(TOWNS, n_documents - 1)
        texts = [f"{a} wrote a book about birds. " + filled(draw, "It sold well.", 2)
                 for a in names]
        i = draw.randrange(n_documents - 1)
        texts.insert(i + 1, f"The author named last was born in {towns[i]}. "
                     + filled(draw, "Nobody knew it then.", 2))
        return texts, f"Where was {names[i]} born?", [towns[i]]
    return generated("coreference", 400, make)


def needle(_, n_documents):
    """One sentence in long documents."""
    def make(draw):
        word = draw.choice(("apricot", "lantern", "walnut", "saffron", "pebble", "velvet"))
        i = draw.randrange(n_documents)
        texts = [filled(draw, f"The secret word is {word}." if j == i else FILLER[0], 30)
                 for j in range(n_documents)]
        return texts, "What is the secret word?", [word]
    return generated("needle", 200, make)


READERS = {"squad": squad, "hotpot": hotpot, "musique": musique, "single": single,
           "two_hop": two_hop, "coreference": coreference, "needle": needle}
PUBLISHED = ("squad", "hotpot", "musique")


def read(name, folder, n_documents, n):
    """The first n questions of a set."""
    if name in PUBLISHED and not (folder and Path(folder).is_dir()):
        raise FileNotFoundError(f"the set {name} is read from a folder of published data: name it "
                                "with --data")
    made = READERS[name](Path(folder) if folder else None, n_documents)
    made.questions = made.questions[:n]
    return made
