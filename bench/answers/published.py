"""Sets of published questions, read from a folder. Nothing of the data is part of the project."""

import json
import random

from questions import Question, Set, asked, passages


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


READERS = {"squad": squad, "hotpot": hotpot, "musique": musique}
