"""Sets that are made here, from fixed seeds: each asks for one thing that reuse may break."""

import random

from questions import SHORT, passages

NAMES = ("Ada", "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Hugo", "Irene", "Jonas",
         "Karin", "Leon", "Maria", "Nils", "Olga", "Peter", "Quentin", "Rosa", "Simon", "Thea")
TOWNS = ("Paris", "Oslo", "Rome", "Madrid", "Vienna", "Prague", "Dublin", "Lisbon", "Athens",
         "Berlin", "Warsaw", "Helsinki")
THINGS = ("a red bicycle", "an old piano", "a white boat", "a green car", "a silver watch",
          "a brown horse", "a blue lamp", "a black umbrella")
TITLES = ("Amber", "Birch", "Coral", "Dawn", "Ember", "Falcon", "Garnet", "Harbour")
# For sets of more documents than there are titles above, whose questions stay what they were.
MORE_TITLES = TITLES + ("Indigo", "Juniper", "Kestrel", "Lagoon", "Meadow", "Nectar", "Orchid",
                        "Pepper")
MORE_THINGS = THINGS + ("a leather bag", "a wooden table", "a copper kettle", "a wool carpet",
                        "a stone vase", "a paper kite", "a glass bottle", "a yellow tent")
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
           "eleven", "twelve")
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


def generated(name, n, make, metrics=SHORT):
    draw = random.Random(11)
    return passages(name, [(str(i), *make(draw)) for i in range(n)], metrics)


def single(n_documents):
    """One fact, in one of the documents."""
    def make(draw):
        names, towns = draw.sample(NAMES, n_documents), draw.sample(TOWNS, n_documents)
        texts = [filled(draw, f"{a} lives in {b}.", 4) for a, b in zip(names, towns)]
        i = draw.randrange(n_documents)
        return texts, f"Where does {names[i]} live?", [towns[i]]
    return generated("single", 400, make)


def two_hop(n_documents):
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


def coreference(n_documents):
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


def which(n_documents, n_sentences=4, n_questions=800, name="which"):
    """Which of these documents: its title is asked for, by what it mentions."""
    few = n_documents <= len(TITLES)
    def make(draw):
        titles = draw.sample(TITLES if few else MORE_TITLES, n_documents)
        things = draw.sample(THINGS if few else MORE_THINGS, n_documents)
        texts = [f"Report {title}. "
                 + filled(draw, f"{draw.choice(NAMES)} sold {thing}.", n_sentences)
                 for title, thing in zip(titles, things)]
        i = draw.randrange(n_documents)
        return texts, f"Which report mentions {things[i]}?", [titles[i]]
    return generated(name, n_questions, make)


def counting(n_documents, n_sentences=4, n_questions=800, name="counting"):
    """How many of the documents mention a thing; the others mention another one."""
    def make(draw):
        thing, other = draw.sample(THINGS, 2)
        n = draw.randrange(1, n_documents + 1)
        mentioned = [thing] * n + [other] * (n_documents - n)
        draw.shuffle(mentioned)
        texts = [filled(draw, f"{seller} sold {what}.", n_sentences)
                 for seller, what in zip(draw.sample(NAMES, n_documents), mentioned)]
        return (texts, f"How many of the documents mention {thing}? Answer with a number.",
                [str(n), NUMBERS[n]])
    return generated(name, n_questions, make, ("numbers", "contains", "em"))


# Documents of about 500 tokens, and so many questions as one schema has room for all documents of.
LONG, N_LONG = 40, 100


def which_long(n_documents):
    return which(n_documents, LONG, N_LONG, "which_long")


def counting_long(n_documents):
    return counting(n_documents, LONG, N_LONG, "counting_long")


def needle(n_documents):
    """One sentence in long documents."""
    def make(draw):
        word = draw.choice(("apricot", "lantern", "walnut", "saffron", "pebble", "velvet"))
        i = draw.randrange(n_documents)
        texts = [filled(draw, f"The secret word is {word}." if j == i else FILLER[0], 30)
                 for j in range(n_documents)]
        return texts, "What is the secret word?", [word]
    return generated("needle", 200, make)


# name -> (what makes it, how many documents a question has at least and at most)
MAKERS = {"single": (single, 1, len(TOWNS)), "two_hop": (two_hop, 2, 2 * len(THINGS)),
          "coreference": (coreference, 2, len(TOWNS) + 1), "which": (which, 1, len(MORE_TITLES)),
          "which_long": (which_long, 1, len(MORE_TITLES)),
          "counting_long": (counting_long, 1, len(NUMBERS) - 1),
          "counting": (counting, 1, len(NUMBERS) - 1), "needle": (needle, 1, 64)}


def make(name, n_documents):
    maker, least, most = MAKERS[name]
    if not least <= n_documents <= most:
        raise ValueError(f"a question of the set {name} has {least} to {most} documents, "
                         f"not {n_documents} (--documents)")
    return maker(n_documents)
