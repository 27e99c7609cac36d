"""promptcache through its C API, as far as a study of answers needs it."""

import ctypes as c
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
import promptcache_runs as runs  # noqa: E402


class SessionOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("max_tokens", c.c_uint32), ("no_reuse", c.c_uint32),
                ("temperature", c.c_float), ("top_k", c.c_uint32), ("top_p", c.c_float),
                ("min_p", c.c_float), ("repetition_penalty", c.c_float), ("seed", c.c_uint64),
                ("stop", c.POINTER(c.c_char_p)), ("n_stop", c.c_size_t),
                ("presence_penalty", c.c_float), ("frequency_penalty", c.c_float),
                ("bias", c.c_void_p), ("n_bias", c.c_size_t), ("mask", c.c_void_p),
                ("mask_user", c.c_void_p), ("client", c.c_char_p), ("progress", c.c_void_p),
                ("progress_user", c.c_void_p), ("repair", c.c_char_p)]


class Stats(c.Structure):
    _fields_ = runs.Stats._fields_ + [("finish", c.c_uint32), ("fell_back", c.c_uint32),
                                      ("chained_tokens", c.c_uint64),
                                      ("repaired_tokens", c.c_uint64)]


class Facts(c.Structure):  # the beginning, up to what is read
    _fields_ = [("struct_size", c.c_size_t), ("context_tokens", c.c_uint32),
                ("vocab_size", c.c_uint32)]


class Counts(c.Structure):  # the beginning, up to what is read
    _fields_ = [("struct_size", c.c_size_t), ("tokens", c.c_uint64)]


class Answer:
    """Text, what it cost, and the logits of its first token (c_float array)."""

    def __init__(self, text, first, logits, stats):
        self.text, self.first, self.logits, self.stats = text, first, logits, stats


class Client(runs.PromptCache):
    def prompt(self, schema, text):
        return self.parse("prompt", schema, text)

    def close_prompt(self, prompt):
        self.lib.pc_prompt_close(prompt)

    def close_schema(self, schema):
        self.lib.pc_schema_close(schema)

    def encode(self, prompt):
        self.call("pc_prompt_encode", prompt, None, None, None)

    def window(self):
        """Tokens of a prompt and its answer together, at most."""
        facts = Facts(struct_size=c.sizeof(Facts))
        self.call("pc_engine_get_facts", self.engine, c.byref(facts))
        return facts.context_tokens

    def tokens_of_text(self, text):
        source, n = text.encode(), c.c_size_t()
        self.call("pc_tokenize", self.engine, source, c.c_size_t(len(source)), None, c.c_size_t(0),
                  c.byref(n))
        return n.value

    def tokens_of_prompt(self, prompt):
        counts = Counts(struct_size=c.sizeof(Counts))
        self.call("pc_prompt_get_counts", prompt, c.byref(counts))
        return counts.tokens

    def answer(self, prompt, n_tokens, reuse=True, repair=None, stop=()):
        stops = (c.c_char_p * len(stop))(*[s.encode() for s in stop])
        options = SessionOptions(struct_size=c.sizeof(SessionOptions), max_tokens=n_tokens,
                                 no_reuse=not reuse, stop=stops, n_stop=len(stop),
                                 repair=repair.encode() if repair else None)
        session, token, stats = c.c_void_p(), runs.Token(), Stats(struct_size=c.sizeof(Stats))
        self.call("pc_session_open", prompt, c.byref(options), c.byref(session))
        self.call("pc_session_prefill", session)
        data, n = c.POINTER(c.c_float)(), c.c_size_t()
        self.call("pc_session_logits", session, c.byref(data), c.byref(n))
        logits = (c.c_float * n.value)(*data[:n.value])
        text, first = b"", None
        while self.call("pc_session_next", session, c.byref(token)) != runs.DONE:
            first = token.id if first is None else first
            text += c.string_at(token.text, token.text_bytes)
        text += c.string_at(token.text, token.text_bytes)  # what the end made certain
        self.lib.pc_session_get_stats(session, c.byref(stats))
        self.lib.pc_session_close(session)
        return Answer(text.decode(errors="replace"), first, logits, stats)
