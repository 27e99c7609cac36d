"""The questions of one set, put to one model in several ways; every answer is kept as a row."""

import dataclasses
import json
import math
import sys

import scores
import ways
import window

# Where documents part what is one run of text without them, there may be a token more on each side.
BORDERS = 2


def log_softmax(logits):
    top = max(logits)
    total = top + math.log(math.fsum(math.exp(x - top) for x in logits))
    return [x - total for x in logits]


def divergence(p, q):
    """KL(p || q) of log-probabilities."""
    return math.fsum(math.exp(a) * (a - b) for a, b in zip(p, q))


def read_rows(results, about):
    """The rows of an earlier run. ValueError: they are of another one."""
    rows = [json.loads(line) for line in results.read_text().splitlines()] \
        if results and results.exists() else []
    for row in rows:
        if row.get("about", about) != about:
            raise ValueError(f"{results} holds answers of {row['about']}, not of {about}: name "
                             "another file with --results")
    return rows


class Study:
    """One set on one model. about: what tells its rows from those of others. open_client: makes the
    client of states of another type, where ways want some."""

    def __init__(self, client, made, names, results, about, open_client=None):
        self.client, self.made, self.names = client, made, names
        self.open_client, self.clients = open_client, {None: client}
        self.results, self.about = results, about
        self.rows = read_rows(results, about)
        self.left_out = []  # keys of questions of which no document fits into the window
        self.schemas, self.sizes = {}, {}

    def client_of(self, kv):
        if kv not in self.clients:
            self.clients[kv] = self.open_client(kv)
        return self.clients[kv]

    def schema(self, way, question, kv=None):
        """One for all questions, so that documents are encoded once; of a scaffold, its own."""
        client = self.client_of(kv)
        if way == "scaffold":
            text = ways.schema_text(self.made, question.documents, scaffold=True)
            return client.parse("schema", client.engine, text, None)
        attend = ways.attend_of(way)
        if (attend, kv) not in self.schemas:
            text = ways.schema_text(self.made, range(len(self.made.documents)), attend)
            self.schemas[attend, kv] = client.parse("schema", client.engine, text, None)
        return self.schemas[attend, kv]

    def size(self, document):
        """Tokens of a document."""
        if document not in self.sizes:
            self.sizes[document] = self.client.tokens_of_text(self.made.documents[document])
        return self.sizes[document]

    def fitted(self, question):
        """The question with the documents for which there is room beside its text and answer."""
        bare = dataclasses.replace(question, documents=[])
        prompt = self.client.prompt(self.schema("none", bare), ways.prompt_text(self.made, bare))
        room = (self.client.window() - question.n_tokens - BORDERS
                - self.client.tokens_of_prompt(prompt))
        self.client.close_prompt(prompt)
        kept = window.from_both_ends([self.size(d) for d in question.documents], room)
        return dataclasses.replace(question, documents=[question.documents[i] for i in kept])

    def ask(self, question, way):
        bare, kv = ways.parts_of(way)
        client, schema = self.client_of(kv), self.schema(bare, question, kv)
        prompt = client.prompt(schema, ways.prompt_text(self.made, question))
        if bare != "full":
            client.encode(prompt)
        answer = client.answer(prompt, question.n_tokens, **ways.session_of(bare))
        client.close_prompt(prompt)
        if bare == "scaffold":
            client.close_schema(schema)
        return answer

    def row(self, question, way, answer, full):
        s = answer.stats
        text = scores.first_line(answer.text) if self.made.first_line else answer.text
        return {"about": self.about, "question": question.key, "way": way, "answer": answer.text,
                "first": answer.first, "ttft_us": s.ttft_us, "prompt_tokens": s.prompt_tokens,
                "module_tokens": s.cached_tokens + s.repaired_tokens,
                "repaired_tokens": s.repaired_tokens, "documents": len(question.documents),
                "kl": divergence(full, log_softmax(answer.logits)),
                **{m: scores.best(m, text, question.golds, question.classes)
                   for m in self.made.metrics}}

    def run(self):
        done = {(r["question"], r["way"]) for r in self.rows}
        for i, question in enumerate(self.made.questions):
            missing = [w for w in self.names if (question.key, w) not in done]
            if missing:
                self.put(self.fitted(question), missing)
            if sys.stderr.isatty():
                print(f"\r{i + 1}/{len(self.made.questions)}", end="", file=sys.stderr)

    def put(self, question, names):
        if not question.documents:
            self.left_out.append(question.key)
            return
        full = self.ask(question, "full")
        logits = log_softmax(full.logits)
        for way in names:
            answer = full if way == "full" else self.ask(question, way)
            self.keep(self.row(question, way, answer, logits))

    def keep(self, row):
        self.rows.append(row)
        if self.results:
            with self.results.open("a") as file:
                file.write(json.dumps(row) + "\n")
