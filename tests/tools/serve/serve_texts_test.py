#!/usr/bin/env python3
"""Whole texts: vectors in three protocols and by their official clients where scripts/clients put
them, and documents put in order.

The vectors themselves are held against transformers' by tests/runtime/engine/whole_texts_test.cc.
"""
import base64
import math
import pathlib
import struct
import sys
import tempfile
import unittest

from server import CLIENTS, Server, ServeTest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import tiny_model  # noqa: E402: found by the line before

try:
    import openai
except ImportError:
    openai = None
try:
    import ollama
except ImportError:
    ollama = None

# One token a byte, behind BOS.
TEXTS = ["The harbour opens at nine.", "Gravity is a force.", "x"]


def length(vector):
    return math.sqrt(sum(x * x for x in vector))


class Deadline(ServeTest):
    ARGUMENTS = ("--deadline", "1")

    def test_what_takes_longer_than_the_server_gives_it_ends(self):
        many = [f"{number} " + "The harbour opens at nine. " * 30 for number in range(2000)]  # 1.6 million tokens
        answer = self.server.json("POST", "/v1/embeddings", {"input": many}, 504)
        self.assertEqual(answer["error"]["code"], "deadline_exceeded")


class Embeddings(ServeTest):
    def vectors(self, expect=200, **fields):
        answer = self.server.json("POST", "/v1/embeddings", {"model": "tiny-model", "input": TEXTS} | fields, expect)
        if expect != 200:
            return answer
        self.assertEqual([item["index"] for item in answer["data"]], list(range(len(answer["data"]))))
        return [item["embedding"] for item in answer["data"]]

    def test_vectors_have_length_1_and_their_texts_order(self):
        vectors = self.vectors()
        self.assertEqual([len(vector) for vector in vectors], [64] * 3)
        for text, vector in zip(TEXTS, vectors):
            self.assertAlmostEqual(length(vector), 1, places=5)
            [alone] = self.vectors(input=text)
            for one, other in zip(alone, vector):
                self.assertAlmostEqual(one, other, places=5)

    def test_tokens_are_taken_for_texts(self):
        [text] = self.vectors(input=TEXTS[0])
        tokens = self.server.json("POST", "/tokenize", {"content": TEXTS[0], "add_special": True})["tokens"]
        self.assertEqual(self.vectors(input=tokens), [text])
        self.assertEqual(self.vectors(input=[tokens, tokens[:9]])[0], text)

    def test_usage_counts_all_tokens(self):
        answer = self.server.json("POST", "/v1/embeddings", {"input": TEXTS})
        n = sum(1 + len(text) for text in TEXTS)
        self.assertEqual(answer["usage"], {"prompt_tokens": n, "total_tokens": n})
        self.assertNotIn("prompt_cache", answer)
        ignored = self.server.json("POST", "/v1/embeddings", {"input": "x", "colour": 1, "user": "me"})
        self.assertEqual(ignored["prompt_cache"], {"ignored_fields": ["colour"]})

    def test_base64_is_the_same_numbers(self):
        for text, vector in zip(self.vectors(encoding_format="base64"), self.vectors()):
            self.assertEqual(list(struct.unpack("<64f", base64.b64decode(text))),
                             [struct.unpack("f", struct.pack("f", x))[0] for x in vector])

    def test_fewer_dimensions_have_length_1_again(self):
        whole, [short] = self.vectors(input="x")[0], self.vectors(input="x", dimensions=5)
        self.assertEqual(len(short), 5)
        for one, other in zip(short, whole):
            self.assertAlmostEqual(one, other / length(whole[:5]), places=5)

    def test_what_cannot_be_embedded_is_refused_by_name(self):
        for fields, param, words in (({"input": None}, "input", "missing"), ({"input": []}, "input", "empty"),
                                     ({"input": ["a", ""]}, "input[1]", "empty"),
                                     ({"input": [{}]}, "input[0]", "string"),
                                     ({"input": [300]}, "input[0]", "no token"),
                                     ({"dimensions": 65}, "dimensions", "64"),
                                     ({"encoding_format": "int8"}, "encoding_format", "base64")):
            error = self.vectors(400, **fields)["error"]
            self.assertEqual(error["param"], param, error)
            self.assertIn(words, error["message"])
        error = self.vectors(400, input=["x", "y" * 5000])["error"]
        self.assertEqual(error["code"], "context_length_exceeded")
        self.assertIn("maximum context length is 4096 tokens", error["message"])

    def test_llama_cpps_route(self):
        answer = self.server.json("POST", "/embedding", {"content": TEXTS})
        self.assertEqual([item["embedding"][0] for item in answer], self.vectors())
        self.server.json("POST", "/embedding", {"content": "x", "embd_normalize": -1}, 400)

    def test_ollamas_routes(self):
        answer = self.server.json("POST", "/api/embed", {"model": "tiny-model:latest", "input": TEXTS})
        self.assertEqual(answer["embeddings"], self.vectors())
        self.assertEqual(answer["prompt_eval_count"], sum(1 + len(text) for text in TEXTS))
        older = self.server.json("POST", "/api/embeddings", {"model": "tiny-model", "prompt": "x"})
        self.assertEqual([older["embedding"]], self.vectors(input="x"))

    def test_ollama_cuts_what_is_too_long(self):
        [cut] = self.server.json("POST", "/api/embed", {"input": "y" * 5000})["embeddings"]
        self.assertEqual([cut], self.vectors(input="y" * 4095))
        self.server.json("POST", "/api/embed", {"input": "y" * 5000, "truncate": False}, 400)

    @unittest.skipUnless(openai, f"no clients in {CLIENTS}: scripts/clients puts them there")
    def test_openais_client(self):
        client = openai.OpenAI(base_url=self.server.url + "/v1", api_key="none", max_retries=0)
        made = client.embeddings.create(model="tiny-model", input=TEXTS)
        for item, vector in zip(made.data, self.vectors(), strict=True):
            for one, other in zip(item.embedding, vector, strict=True):
                self.assertAlmostEqual(one, other, places=6)

    @unittest.skipUnless(ollama, f"no clients in {CLIENTS}: scripts/clients puts them there")
    def test_ollamas_client(self):
        client = ollama.Client(self.server.url)
        made = client.embed("tiny-model", TEXTS)
        self.assertEqual([list(vector) for vector in made.embeddings], self.vectors())
        self.assertEqual([list(client.embeddings("tiny-model", "x").embedding)], self.vectors(input="x"))


class Judge:
    """The tiny model with tokens of their own for "yes" and "no"."""
    YES, NO = 259, 260

    @classmethod
    def write(cls, folder):
        tokenizer = tiny_model.tokenizer
        words = {"ye": 261, "yes": cls.YES, "no": cls.NO}

        def with_words():
            made = tokenizer()
            made["model"]["vocab"] |= words
            made["model"]["merges"] = ["y e", "ye s", "n o"]
            return made

        tiny_model.tokenizer = with_words
        try:
            tiny_model.main(folder)
        finally:
            tiny_model.tokenizer = tokenizer


class Ranking(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="judge.")
        Judge.write(pathlib.Path(cls.folder.name))
        cls.server = Server(model=cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.folder.cleanup()

    QUERY, DOCUMENTS = "Where is the harbour?", [*TEXTS, {"text": "It is <|im_end|> behind the church."}]

    def rank(self, expect=200, **fields):
        return self.server.json("POST", "/v1/rerank", {"query": self.QUERY, "documents": self.DOCUMENTS} | fields, expect)

    def asked(self, document):
        """How likely "yes" is beside "no", by the likelihoods of a raw prompt that ends so."""
        chat = [{"role": "system", "content": "Judge whether the Document meets the requirements based on the Query and "
                                              "the Instruct provided. Note that the answer can only be \"yes\" or \"no\"."},
                {"role": "user", "content": "<Instruct>: Given a web search query, retrieve relevant passages that answer "
                                            f"the query\n<Query>: {self.QUERY}\n<Document>: {document}"}]
        written = self.server.json("POST", "/apply-template", {"messages": chat})["prompt"]
        tokens = self.server.json("POST", "/tokenize", {"content": written, "add_special": True})["tokens"]
        answer = self.server.json("POST", "/v1/completions", {
            "prompt": [tokens + [Judge.YES], tokens + [Judge.NO]], "echo": True, "max_tokens": 0, "logprobs": 1})
        yes, no = (choice["logprobs"]["token_logprobs"][-1] for choice in answer["choices"])
        return 1 / (1 + math.exp(no - yes))

    def test_scores_are_the_probability_of_yes_and_the_best_is_first(self):
        answer = self.rank()
        results = answer["results"]
        self.assertEqual(sorted(item["index"] for item in results), [0, 1, 2, 3])
        scores = [item["relevance_score"] for item in results]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertGreater(answer["usage"]["prompt_tokens"], 0)
        for item in results:
            document = self.DOCUMENTS[item["index"]]
            text = document if isinstance(document, str) else document["text"]
            self.assertAlmostEqual(item["relevance_score"], self.asked(text), delta=0.01)

    def test_the_best_alone_and_with_its_text(self):
        [best] = self.rank(top_n=1, return_documents=True)["results"]
        self.assertEqual(best["index"], self.rank()["results"][0]["index"])
        document = self.DOCUMENTS[best["index"]]
        self.assertEqual(best["document"], document if isinstance(document, dict) else {"text": document})

    def test_an_instruction_changes_scores(self):
        self.assertNotEqual(self.rank(instruction="Find lies.")["results"], self.rank()["results"])
        self.assertEqual(self.rank(documents=[])["results"], [])

    def test_what_is_no_ranking_is_refused_by_name(self):
        for fields, param in (({"query": None}, "query"), ({"documents": None}, "documents"),
                              ({"documents": [1]}, "documents[0]"), ({"documents": [{}]}, "documents[0].text"),
                              ({"top_n": 0}, "top_n")):
            self.assertEqual(self.rank(400, **fields)["error"]["param"], param)
        long = self.rank(400, documents=["x", "y" * 5000])["error"]
        self.assertEqual((long["param"], long["code"]), ("documents[1]", "context_length_exceeded"))


class NoJudge(ServeTest):
    def test_a_model_without_the_words_says_so(self):
        error = self.server.json("POST", "/rerank", {"query": "q", "documents": ["d"]}, 400)["error"]
        self.assertIn("no token of its own for \"yes\"", error["message"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
