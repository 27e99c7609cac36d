"""The language of the city guide: worlds drawn at random, written as token sequences.

A *world* is a few city pages whose values are drawn anew each time, so that an
answer can come only from the text in the context.  A *run* is a stretch of text
that is tokenised on its own; a sequence is a concatenation of control tokens and
runs, exactly as a runtime lays out a schema and a prompt.
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

BOS, SYSTEM, USER, ASSISTANT, END = "<s>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"
CONTROL = (BOS, SYSTEM, USER, ASSISTANT, END)
SYSTEM_TEXT = "You are a city guide. You answer from the pages."

CITIES = (
    "Ankara Athens Baku Bari Basel Bergen Berlin Bern Bilbao Bonn Boston Bremen Cairo Cardiff "
    "Cologne Cork Dakar Dallas Delhi Denver Dresden Dublin Dundee Geneva Genoa Ghent Glasgow Graz "
    "Hamburg Hanoi Havana Houston Kyoto Lagos Leeds Leipzig Lima Lisbon London Lyon Madrid Malmo "
    "Manila Miami Milan Munich Nantes Naples Nice Osaka Oslo Ottawa Paris Perth Porto Prague Quito "
    "Riga Rome Seattle Seoul Seville Sofia Sydney Tampa Tokyo Toronto Tunis Turin Venice Verona "
    "Vienna Vilnius Warsaw Zagreb Zurich"
).split()
NAMES = (
    "Adam Alice Anna Ben Carl Clara David Diana Emma Erik Eva Felix Frank Grace Hanna Hugo Ida "
    "Igor Ivan Jack Jane Julia Karin Laura Leo Linda Lucas Lucy Maria Mark Martin Mia Nina Nora "
    "Oscar Otto Paul Peter Rosa Ruth Sara Simon Sophie Theo Thomas Tom Vera Victor Walter Zoe"
).split()
COLOURS = "black blue brown gold green grey orange pink purple red silver white yellow".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = (
    "January February March April May June July August September October November December"
).split()
ANIMALS = "bears camels deer elephants foxes goats horses lions monkeys owls pandas seals tigers wolves zebras".split()
PLANTS = "apples birches cherries daisies figs lemons lilies oaks olives palms pears pines plums roses tulips".split()
PLAYS = "ballets circuses comedies dances dramas films musicals operas puppets songs thrillers".split()
SUBJECTS = "art biology chess cooking dancing drawing farming history law music painting physics sailing sewing".split()
DISHES = "beef cheese chicken crab curry duck fish ham lamb noodles pasta pizza rice salad sausages soup stew".split()
BREADS = "bagels biscuits buns cakes cookies muffins pancakes pies pretzels rolls tarts toast waffles".split()
DRINKS = "beer chocolate cider cocoa coffee juice lemonade milk tea water wine".split()
SEASONS = "spring summer autumn winter".split()
HOURS = "one two three four five six seven eight nine ten eleven twelve".split()
NUMBERS = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
).split()


@dataclass(frozen=True)
class Attribute:
    """One thing a page can tell: how it is stated, how it is asked, what it can be.

    Every value is one word and every verb belongs to one attribute, so that city and verb,
    which stand just before the value, tell it from all others.
    """

    statement: str
    question: str
    values: list[str]

    def draw(self, rng: random.Random) -> str:
        return rng.choice(self.values)


ATTRIBUTES: dict[str, Attribute] = {
    "museum": Attribute("The museum of {c} opens at {v}.", "When does the museum of {c} open?", HOURS),
    "library": Attribute("The library of {c} closes at {v}.", "When does the library of {c} close?", HOURS),
    "tram": Attribute("The tram of {c} costs {v} euros.", "What does the tram of {c} cost?", NUMBERS),
    "hotel": Attribute("The hotel of {c} charges {v} euros.", "What does the hotel of {c} charge?", NUMBERS),
    "market": Attribute("The market of {c} falls on {v}.", "When does the market of {c} fall?", DAYS),
    "flag": Attribute("The flag of {c} shows {v}.", "What does the flag of {c} show?", COLOURS),
    "mayor": Attribute("The mayor of {c} is called {v}.", "What is the mayor of {c} called?", NAMES),
    "tower": Attribute("The tower of {c} has {v} floors.", "What does the tower of {c} have?", NUMBERS),
    "bridge": Attribute("The bridge of {c} spans {v} metres.", "What does the bridge of {c} span?", NUMBERS),
    "zoo": Attribute("The zoo of {c} keeps {v}.", "What does the zoo of {c} keep?", ANIMALS),
    "park": Attribute("The park of {c} grows {v}.", "What does the park of {c} grow?", PLANTS),
    "choir": Attribute("The choir of {c} sings in {v}.", "When does the choir of {c} sing?", MONTHS),
    "theatre": Attribute("The theatre of {c} plays {v}.", "What does the theatre of {c} play?", PLAYS),
    "school": Attribute("The school of {c} teaches {v}.", "What does the school of {c} teach?", SUBJECTS),
    "restaurant": Attribute("The restaurant of {c} serves {v}.", "What does the restaurant of {c} serve?", DISHES),
    "bakery": Attribute("The bakery of {c} sells {v}.", "What does the bakery of {c} sell?", BREADS),
    "cafe": Attribute("The cafe of {c} pours {v}.", "What does the cafe of {c} pour?", DRINKS),
}
FILLER = (
    "The city of {c} is lovely.",
    "Many people love {c}.",
    "The streets of {c} are quiet.",
    "The centre of {c} is old.",
    "Welcome to {c}.",
    "The people of {c} are kind.",
)
TRAVELLER = ("The traveller is called {v}.", "What is the traveller called?")
SEASON = ("The season is {v}.", "Which season is it?")

WORDS = sorted(
    {word for kind in (CITIES, NAMES, SEASONS, *(a.values for a in ATTRIBUTES.values())) for word in kind}
)


class Tokenizer:
    """The sentencepiece model, run by run; control tokens exist only as ids."""

    def __init__(self, path: Path) -> None:
        import sentencepiece

        self._sp = sentencepiece.SentencePieceProcessor(model_file=str(path))
        self.control = {piece: self._sp.piece_to_id(piece) for piece in CONTROL}
        self.vocab_size: int = self._sp.vocab_size()
        self._words: dict[str, list[int]] = {}

    def encode(self, run: str) -> list[int]:
        """Ids of one run.  Pieces never cross a space, so words are looked up one by one."""
        ids: list[int] = []
        for i, word in enumerate(run.split(" ")):
            word = " " + word if i else word
            if word not in self._words:
                self._words[word] = self._sp.encode(word)
            ids += self._words[word]
        return ids

    def encode_whole(self, run: str) -> list[int]:
        """Ids of one run as the library itself gives them: the same."""
        return self._sp.encode(run)

    def decode(self, ids: list[int]) -> str:
        return self._sp.decode(ids)


def train_tokenizer(path: Path, vocab_size: int = 1408) -> None:
    """Writes a BPE model in which the words of the language are single pieces where possible."""
    import sentencepiece

    rng = random.Random(1)
    frame = " ".join(
        [SYSTEM_TEXT, *FILLER, *TRAVELLER, *SEASON]
        + [a.statement + " " + a.question for a in ATTRIBUTES.values()]
    )
    frame = frame.replace("{c}", "").replace("{v}", "")
    inside = set(frame.replace(".", " ").replace("?", " ").split()) | set(WORDS)
    bare = {"The", "When", "Which", "What", "How", "You", "Many", "Welcome"} | set(NAMES) | set(SEASONS)
    lines = [form for word in sorted(inside) for form in (["x " + word] * 12 + [word] * 6 * (word in bare))]
    alphabet = "".join(chr(c) for c in range(33, 127))
    lines += [alphabet, ". ? ! , : 0 1 2 3 4 5 6 7 8 9"] * 4
    rng.shuffle(lines)
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        model_type="bpe",
        vocab_size=vocab_size,
        byte_fallback=True,
        split_digits=True,
        character_coverage=1.0,
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        normalization_rule_name="identity",
        unk_id=0,
        bos_id=1,
        eos_id=2,
        pad_id=-1,
        eos_piece=END,
        control_symbols=[SYSTEM, USER, ASSISTANT],
        num_threads=1,
        minloglevel=2,
    )
    path.write_bytes(model.getvalue())


@dataclass(frozen=True)
class Shape:
    """How large a world is: pages, facts on each, and how many questions follow."""

    pages: int
    facts: int
    questions: int


@dataclass
class Sample:
    """A sequence and what it teaches: `answers[i]` is true where ids[i] belongs to an answer."""

    ids: list[int] = field(default_factory=list)
    answers: list[bool] = field(default_factory=list)
    first: tuple[int, int] = (0, 0)  # the span of the first answer, its <|end|> included
    expected: str = ""  # the first answer as text
    modules: list[tuple[int, int]] = field(default_factory=list)  # spans of the pages


def _attribute_sets(rng: random.Random, shape: Shape, shared: float) -> list[list[str]]:
    """One list of attributes a page; with probability `shared` all pages tell the same things."""
    keys = list(ATTRIBUTES)
    count = min(shape.facts, len(keys))
    if rng.random() < shared:
        common = rng.sample(keys, count)
        return [rng.sample(common, count) for _ in range(shape.pages)]
    pool = rng.sample(keys, min(len(keys), count + rng.randint(0, 6)))
    return [rng.sample(pool, count) for _ in range(shape.pages)]


def _spaced(rng: random.Random, run: str) -> str:
    """The run with or without one space on either side, as files and tags may leave it."""
    return (" " if rng.random() < 0.3 else "") + run + (" " if rng.random() < 0.5 else "")


class World:
    """Pages, a traveller and a season drawn from `rng`, and the runs that tell of them.

    The questions are about the pages in random order; unless `ask_about_trip` is false,
    those about the traveller and the season, where there is one, stand anywhere among them.
    """

    def __init__(
        self, rng: random.Random, shape: Shape, shared: float = 0.7, ask_about_trip: bool = True
    ) -> None:
        self.questions: list[tuple[str, list[str]]] = []  # a question and the runs of its answer
        self.blocks: list[list[str]] = []  # each a module: its runs
        self.system_runs: list[str] = [SYSTEM_TEXT]
        facts: list[tuple[str, list[str]]] = []
        for city, keys in zip(rng.sample(CITIES, shape.pages), _attribute_sets(rng, shape, shared)):
            sentences = []
            for key in keys:
                attribute = ATTRIBUTES[key]
                statement = attribute.statement.format(c=city, v=attribute.draw(rng))
                sentences.append(statement)
                facts.append((attribute.question.format(c=city), [statement]))
            for _ in range(rng.choice((0, 0, 1, 1, 2)) if shape.facts > 1 else 0):
                sentences.insert(rng.randint(0, len(sentences)), rng.choice(FILLER).format(c=city))
            self.blocks.append(self._page_runs(rng, sentences))
        rng.shuffle(facts)
        extra: list[tuple[str, list[str]]] = []
        if rng.random() < 0.4:
            name = rng.choice(NAMES)
            whole = [TRAVELLER[0].format(v=name)]
            runs = ["The traveller is called ", name, "."] if rng.random() < 0.6 else whole
            self._place(rng, [*runs, " "] if rng.random() < 0.3 else runs)
            extra.append((TRAVELLER[1], runs))
        if rng.random() < 0.3:
            statement = SEASON[0].format(v=rng.choice(SEASONS))
            self._place(rng, [_spaced(rng, statement)])
            extra.append((SEASON[1], [statement]))
        asked = facts[: shape.questions]
        for item in extra if ask_about_trip else ():
            asked.insert(rng.randint(0, len(asked)), item)
        self.questions = asked

    @staticmethod
    def _page_runs(rng: random.Random, sentences: list[str]) -> list[str]:
        """A page as one run, or as a page with a part of its own (a nested module)."""
        if len(sentences) > 2 and rng.random() < 0.2:
            cut = rng.randint(1, len(sentences) - 1)
            parts = [sentences[:cut], sentences[cut:]]
        else:
            parts = [sentences]
        return [_spaced(rng, " ".join(part)) for part in parts]

    def _place(self, rng: random.Random, runs: list[str]) -> None:
        """Puts a statement into the system turn or anywhere between the pages."""
        if rng.random() < 0.2:
            self.system_runs += [" ", *runs] if rng.random() < 0.5 else runs
        else:
            where = 0 if rng.random() < 0.6 else rng.randint(0, len(self.blocks))
            self.blocks.insert(where, runs)


def write(rng: random.Random, tokenizer: Tokenizer, world: World) -> Sample:
    """The world as one chat: pages, then its questions, each with its answer."""
    sample = Sample()
    control = tokenizer.control

    def put(ids: list[int], answer: bool = False) -> None:
        sample.ids += ids
        sample.answers += [answer] * len(ids)

    def text(run: str) -> None:
        put(tokenizer.encode(run))

    put([control[BOS], control[SYSTEM]])
    for run in world.system_runs:
        text(run)
    put([control[END]])
    inside = rng.random() < 0.6  # the pages inside the user's turn, or before it
    if inside:
        put([control[USER]])
    for block in world.blocks:
        start = len(sample.ids)
        for run in block:
            text(run)
        sample.modules.append((start, len(sample.ids)))
    if not inside:
        put([control[USER]])
    for i, (question, answer) in enumerate(world.questions):
        if i:
            put([control[USER]])
        text(_spaced(rng, question) if rng.random() < 0.3 else question)
        put([control[END], control[ASSISTANT]])
        start = len(sample.ids)
        for run in answer:
            put(tokenizer.encode(run), answer=True)
        put([control[END]], answer=True)
        if i == 0:
            sample.first = (start, len(sample.ids))
            sample.expected = "".join(answer)
    return sample


def drill(rng: random.Random, tokenizer: Tokenizer, kind: str, length: int) -> Sample:
    """About `length` tokens of words without meaning: practice in copying what was seen.

    "spans": words, then parts of them again; where they come from a small pool, one word
             alone rarely tells where the copy continues.
    "table": lines `city subject value value.`, then each of them again in another
             order: only city and subject together tell which line it is.
    """
    sample = Sample()

    def put(words: list[str], known: int = 0, end: str = "") -> None:
        """Appends words, the last `known` of which can be known from what stands before."""
        for i, word in enumerate(words):
            ids = tokenizer.encode(" " + word)
            sample.ids += ids
            sample.answers += [i >= len(words) - known] * len(ids)
        if end:
            sample.ids += tokenizer.encode(end)
            sample.answers += [known > 0]

    sample.ids.append(tokenizer.control[BOS])
    sample.answers.append(False)
    if kind == "spans":
        size = rng.randint(8, max(8, length // 2))
        pool = rng.sample(WORDS, min(len(WORDS), max(6, int(size * rng.uniform(0.5, 4.0)))))
        words = rng.choices(pool, k=size)
        put(words)
        while len(sample.ids) < length:
            start = rng.randrange(size - 5)
            span = words[start : start + rng.randint(5, 20)]
            put(span, len(span) - 1)
    else:
        cities = rng.sample(CITIES, rng.randint(1, 8))
        subjects = rng.sample(list(ATTRIBUTES), rng.randint(1, 6))
        pool = rng.sample(WORDS, 20)
        keys = [(city, subject) for city in cities for subject in subjects]
        rng.shuffle(keys)
        lines = [[*key, *rng.choices(pool, k=rng.randint(1, 4))] for key in keys[: length // 12]]
        for line in lines:
            put(line, end=".")
        rng.shuffle(lines)
        for line in lines:
            put(line, len(line) - 2, end=".")
    return sample


LARGEST = (  # pages: the most facts on each, by stage
    {1: 7, 2: 3, 3: 2, 4: 2, 6: 1},
    {1: 9, 2: 6, 3: 5, 4: 4, 6: 3, 8: 2},
    {1: 12, 2: 9, 3: 8, 4: 8, 6: 6, 8: 8, 12: 5},
)


def shapes(rng: random.Random, stage: int) -> Shape:
    """A shape for one batch; later stages know more pages and more facts, up to 1100 tokens."""
    largest = LARGEST[max(0, stage - 1)]
    pages = rng.choice((1, 2, 4, *largest))
    facts = rng.randint(1 if pages > 1 else 2, largest[pages])
    return Shape(pages, facts, min(pages * facts, 16))


def batches(seed: int, tokenizer: Tokenizer, stage: Callable[[], int], tokens: int) -> Iterator[list[Sample]]:
    """Endless training batches of about `tokens` tokens; all rows of one have the same shape.

    From stage 0 to 3 worlds grow and drills become few.
    """
    rng = random.Random(seed)
    while True:
        now = stage()
        kind = None
        if rng.random() < (0.3, 0.2, 0.1, 0.03)[now]:
            kind = rng.choice(("spans", "table"))
        length = rng.choice((32, 48, 64) if now == 0 else (48, 96, 160))
        shape = shapes(rng, now)
        batch: list[Sample] = []
        longest = 0
        while (len(batch) + 1) * longest <= tokens:
            if kind:
                sample = drill(rng, tokenizer, kind, length)
            else:
                sample = write(rng, tokenizer, World(rng, shape))
            longest = max(longest, len(sample.ids))
            batch.append(sample)
        yield batch
