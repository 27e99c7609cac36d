#!/usr/bin/env python3
"""Conversations over HTTP, without a client library: answers whole and streamed, what is reused of
them after a restart too, who waits, and who leaves."""
import json
import socket
import threading
import time
import unittest

from server import PATIENCE, Server, ServeTest, events

LONG = "The harbour lies in the south, and the tower stands on the hill above it. " * 8


class Chat(ServeTest):
    def test_the_model_is_listed_and_the_server_is_well(self):
        model = self.server.json("GET", "/v1/models")["data"][0]
        self.assertEqual(model["id"], "tiny-model")
        self.assertEqual(model["object"], "model")
        self.assertEqual(self.server.json("GET", "/health"), {"status": "ok"})

    def test_an_answer_has_the_form_of_the_protocol(self):
        answer = self.chat("Hello!")
        self.assertEqual(answer["object"], "chat.completion")
        self.assertTrue(answer["id"].startswith("chatcmpl-"))
        choice = answer["choices"][0]
        self.assertEqual(choice["message"]["role"], "assistant")
        self.assertIn(choice["finish_reason"], ("length", "stop"))
        usage = answer["usage"]
        self.assertEqual(usage["total_tokens"], usage["prompt_tokens"] + usage["completion_tokens"])
        self.assertIn("prefix", answer["system_fingerprint"])

    def test_a_stream_is_the_same_answer_in_pieces(self):
        whole = self.chat("Tell me of the sea.", prompt_cache={"mode": "off"})
        body = {"messages": [{"role": "user", "content": "Tell me of the sea."}], "max_tokens": 8,
                "temperature": 0, "stream": True, "stream_options": {"include_usage": True}}
        status, headers, data = self.server.ask("POST", "/v1/chat/completions", body)
        self.assertEqual(status, 200)
        self.assertEqual(headers["content-type"], "text/event-stream")
        texts = [text for _, text in events(data)]
        self.assertEqual(texts[-1], "[DONE]")
        chunks = [json.loads(text) for text in texts[:-1]]
        self.assertEqual(chunks[0]["choices"][0]["delta"]["role"], "assistant")
        said = "".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"])
        self.assertEqual(said, whole["choices"][0]["message"]["content"])
        self.assertEqual(chunks[-1]["usage"]["completion_tokens"], whole["usage"]["completion_tokens"])
        self.assertEqual(len({chunk["id"] for chunk in chunks}), 1)

    def test_what_a_conversation_computed_is_found_by_its_next_request(self):
        first = self.chat(LONG)
        self.assertEqual(first["prompt_cache"]["mode"], "prefix")
        said = first["choices"][0]["message"]["content"]
        turns = [{"role": "user", "content": LONG}, {"role": "assistant", "content": said},
                 {"role": "user", "content": "And where is the tower?"}]
        again = self.chat("", messages=turns)
        cached = again["usage"]["prompt_tokens_details"]["cached_tokens"]
        self.assertGreaterEqual(cached, len(LONG) // 256 * 256)
        self.assertEqual(again["timings"]["cache_n"], cached)
        fresh = self.chat("", messages=turns, prompt_cache={"mode": "off"})
        self.assertEqual(fresh["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
        self.assertEqual(fresh["choices"], again["choices"])

    def test_several_answers_come_of_one_prompt(self):
        answer = self.chat("Sing!", n=3, temperature=1.5, seed=7, max_tokens=24)
        texts = [choice["message"]["content"] for choice in answer["choices"]]
        self.assertEqual([choice["index"] for choice in answer["choices"]], [0, 1, 2])
        self.assertEqual(len(set(texts)), 3)
        again = self.chat("Sing!", n=3, temperature=1.5, seed=7, max_tokens=24)
        self.assertEqual(texts, [choice["message"]["content"] for choice in again["choices"]])

    def test_logprobs_are_of_the_drawn_tokens(self):
        tokens = self.chat("Hm?", logprobs=True, top_logprobs=3)["choices"][0]["logprobs"]["content"]
        self.assertEqual(len(tokens), 8)
        for token in tokens:
            self.assertEqual(len(token["top_logprobs"]), 3)
            self.assertEqual(token["top_logprobs"][0]["logprob"], token["logprob"])  # greedy
            self.assertLessEqual(token["logprob"], 0)

    def test_bias_decides_and_stop_strings_end(self):
        answer = self.chat("A?", logit_bias={str(ord("x")): 100}, stop=["xxx"])
        self.assertEqual(answer["choices"][0]["message"]["content"], "")
        self.assertEqual(answer["choices"][0]["finish_reason"], "stop")
        answer = self.chat("A?", logit_bias={str(ord("x")): 100})
        self.assertEqual(answer["choices"][0]["message"]["content"], "x" * 8)
        self.assertEqual(answer["choices"][0]["finish_reason"], "length")

    def test_drafts_change_when_tokens_come_and_not_which(self):
        repeats = {"logit_bias": {str(ord("x")): 100}, "max_tokens": 60}
        drafted = self.chat("A?", **repeats)
        self.assertGreater(drafted["timings"]["draft_n_accepted"], 20)
        self.assertLessEqual(drafted["timings"]["draft_n_accepted"], drafted["timings"]["draft_n"])
        plain = self.chat("A?", prompt_cache={"max_draft": 0}, **repeats)
        self.assertNotIn("draft_n", plain["timings"])
        self.assertEqual(plain["choices"], drafted["choices"])
        error = self.server.json("POST", "/v1/chat/completions", {
            "messages": [{"role": "user", "content": "A?"}], "prompt_cache": {"max_draft": -1}}, 400)["error"]
        self.assertEqual(error["param"], "prompt_cache.max_draft")

    def test_numbers_have_the_meaning_of_their_origin(self):
        room = 4096 - len("<|im_start|>user\nA?<|im_end|>\n<|im_start|>assistant\n") - 1
        for fields in ({"max_tokens": -1}, {"max_tokens": None, "max_completion_tokens": -1},
                       {"max_tokens": None, "n_predict": -1}):
            answer = self.chat("A?", logit_bias={str(ord("x")): 100}, **fields)
            self.assertGreater(answer["usage"]["completion_tokens"], room - 64)
            self.assertEqual(answer["choices"][0]["finish_reason"], "length")
        greedy = self.chat("A?")["choices"][0]["message"]["content"]
        for fields in ({"temperature": 1, "top_p": 0}, {"temperature": 1, "min_p": 1}, {"temperature": 0, "top_k": -1},
                       {"temperature": 0, "top_k": 0}, {"temperature": 0, "stop": [""]}, {"temperature": 1.0, "top_k": 1.0}):
            self.assertEqual(self.chat("A?", **fields)["choices"][0]["message"]["content"], greedy, fields)
        for one, same in ((2 ** 64 - 5, -5), (2 ** 64 + 2 ** 20, 2 ** 20), (7, 7.0), (2 ** 64 - 1, 2 ** 64 - 1)):
            said = [self.chat("Sing!", temperature=1.5, seed=seed, max_tokens=24, prompt_cache={"mode": "off"})
                    ["choices"][0]["message"]["content"] for seed in (one, same)]
            self.assertEqual(said[0], said[1], (one, same))
        nothing = self.chat("A?", max_tokens=0)
        self.assertEqual((nothing["usage"]["completion_tokens"], nothing["choices"][0]["message"]["content"]), (0, ""))
        text = self.server.json("POST", "/v1/completions", {"prompt": "A", "temperature": 0, "logit_bias": {
            str(ord("x")): 100}})["choices"][0]["text"]
        self.assertEqual(text, "x" * 16)

    def test_fields_without_a_meaning_are_named(self):
        answer = self.chat("Hi", mirostat=2)
        self.assertEqual(answer["prompt_cache"]["ignored_fields"], ["mirostat"])
        inner = self.chat("", messages=[{"role": "user", "content": [{"type": "text", "text": "Hi", "z": 1}], "y": 1}],
                          stream_options={"include_obfuscation": False}, response_format={"type": "text", "x": 1})
        self.assertEqual(set(inner["prompt_cache"]["ignored_fields"]), {
            "stream_options.include_obfuscation", "response_format.x", "messages[0].y", "messages[0].content[0].z"})

    def test_bare_text_goes_on(self):
        body = {"prompt": "Once upon", "max_tokens": 6, "temperature": 0, "echo": True, "logprobs": 2}
        choice = self.server.json("POST", "/v1/completions", body)["choices"][0]
        self.assertTrue(choice["text"].startswith("Once upon"))
        self.assertEqual(len(choice["logprobs"]["tokens"]), 1 + len("Once upon") + 6)
        tokens = self.server.json("POST", "/tokenize", {"content": "Once upon"})["tokens"]
        self.assertEqual(tokens, list(b"Once upon"))
        self.assertEqual(self.server.json("POST", "/detokenize", {"tokens": tokens})["content"], "Once upon")
        body = {"prompt": [256, *tokens], "max_tokens": 6, "temperature": 0, "echo": True}
        same = self.server.json("POST", "/v1/completions", body)["choices"][0]
        self.assertEqual(same["text"], "<s>" + choice["text"])

    def test_a_prompt_can_be_computed_ahead_and_explained(self):
        body = {"messages": [{"role": "user", "content": "Ahead of time. " + LONG}]}
        before = self.server.json("POST", "/v1/prompt_cache/explain", body)
        warm = self.server.json("POST", "/v1/prompt_cache/prewarm", body)
        self.assertGreater(warm["usage"]["prompt_tokens_details"]["cache_write_tokens"], 256)
        self.assertEqual(before["chained_tokens"], 0)
        self.assertGreater(self.server.json("POST", "/v1/prompt_cache/explain", body)["chained_tokens"], 256)
        answer = self.chat("Ahead of time. " + LONG)
        self.assertGreater(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 256)

    def test_the_prompt_is_what_the_template_writes(self):
        body = {"messages": [{"role": "user", "content": "Hi"}]}
        self.assertEqual(self.server.json("POST", "/apply-template", body)["prompt"],
                         "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")


class Messages(ServeTest):
    BODY = {"model": "tiny-model", "max_tokens": 8, "temperature": 0, "system": "Be brief.",
            "messages": [{"role": "user", "content": [{"type": "text", "text": LONG}]}]}

    def test_an_answer_has_the_form_of_the_protocol(self):
        answer = self.server.json("POST", "/v1/messages", self.BODY)
        self.assertEqual(answer["type"], "message")
        self.assertEqual(answer["content"][0]["type"], "text")
        self.assertIn(answer["stop_reason"], ("end_turn", "max_tokens"))
        counted = self.server.json("POST", "/v1/messages/count_tokens", self.BODY)["input_tokens"]
        usage = answer["usage"]
        self.assertEqual(counted, usage["input_tokens"] + usage["cache_read_input_tokens"] +
                         usage["cache_creation_input_tokens"])
        again = self.server.json("POST", "/v1/messages", self.BODY)
        self.assertGreater(again["usage"]["cache_read_input_tokens"], 256)
        self.assertEqual(again["content"], answer["content"])

    def test_a_stream_has_its_events_in_order(self):
        whole = self.server.json("POST", "/v1/messages", self.BODY)
        status, _, data = self.server.ask("POST", "/v1/messages", self.BODY | {"stream": True})
        self.assertEqual(status, 200)
        stream = [(name, json.loads(text)) for name, text in events(data)]
        self.assertTrue(all(name == event["type"] for name, event in stream))
        names = [name for name, _ in stream if name != "content_block_delta"]
        self.assertEqual(names, ["message_start", "content_block_start", "content_block_stop",
                                 "message_delta", "message_stop"])
        said = "".join(event["delta"]["text"] for name, event in stream if name == "content_block_delta")
        self.assertEqual(said, whole["content"][0]["text"])

    def test_the_stop_sequence_is_named(self):
        body = self.BODY | {"stop_sequences": ["qqqq", "no"], "max_tokens": 4000, "temperature": 1}
        answer = self.server.json("POST", "/v1/messages", body)
        if answer["stop_reason"] == "stop_sequence":
            self.assertIn(answer["stop_sequence"], ("qqqq", "no"))
        else:
            self.assertIsNone(answer["stop_sequence"])


class Restart(unittest.TestCase):
    def test_a_conversation_survives_the_server(self):
        first = Server()
        turns = [{"role": "user", "content": LONG}]
        body = {"messages": turns, "max_tokens": 8, "temperature": 0}
        said = first.json("POST", "/v1/chat/completions", body)["choices"][0]["message"]["content"]
        turns += [{"role": "assistant", "content": said}, {"role": "user", "content": "And then?"}]
        keep = first.folder.with_name(first.folder.name + ".kept")
        (first.folder / "cache").rename(keep)
        self.addCleanup(__import__("shutil").rmtree, keep)
        self.assertEqual(first.close(), 0)
        second = Server(cache=keep)
        answer = second.json("POST", "/v1/chat/completions", body | {"messages": turns})
        self.assertGreaterEqual(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 512)
        self.assertEqual(second.close(), 0)


class Crowd(ServeTest):
    ARGUMENTS = ("--parallel", "2", "--queue", "1")

    def stream(self, n_tokens):
        """A connection on which an answer is under way: its first event has come."""
        connection = socket.create_connection(("127.0.0.1", self.server.port), timeout=PATIENCE)
        body = json.dumps({"messages": [{"role": "user", "content": "Go on."}], "stream": True,
                           "n": 16, "max_tokens": n_tokens, "logit_bias": {"257": -100}}).encode()
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                           str(len(body)).encode() + b"\r\n\r\n" + body)
        data = b""
        while b"data: " not in data:
            data += connection.recv(4096)
        return connection

    def test_one_too_many_is_told_to_come_again_and_who_leaves_makes_room(self):
        running = [self.stream(4000), self.stream(4000)]
        body = {"messages": [{"role": "user", "content": "Me too"}], "max_tokens": 2}
        statuses = []
        waiting = [threading.Thread(target=lambda: statuses.append(
            self.server.ask("POST", "/v1/chat/completions", body)[0])) for _ in range(4)]
        for thread in waiting:
            thread.start()
        deadline = time.monotonic() + PATIENCE
        while statuses.count(429) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(statuses, [429] * 3)  # one waits
        for connection in running:
            connection.close()
        for thread in waiting:
            thread.join(PATIENCE)
        self.assertEqual(sorted(statuses), [200, 429, 429, 429])
        while self.server.metric("answers_running") > 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(self.server.metric("answers_running"), 0)


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
