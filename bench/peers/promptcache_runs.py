"""What the comparison asks of promptcache, through its C API: the calls, timed from outside."""

import ctypes as c
import json
import sys
import time

WORDS = ("river", "stone", "light", "house", "garden")  # each one token of Llama's vocabulary
DONE = 100
GIVEN_MAX_DRAFT = 16  # of pc_session_given: one token a step is what is measured, drafts or not
KV_TYPES = {"bf16": 2, "q8": 3, "q4": 4}  # pc_kv_type


def words(n):
    """A space before each: without, a word is spelled in letters."""
    return "".join(" " + WORDS[i % len(WORDS)] for i in range(n))


class Error(c.Structure):
    _fields_ = [("status", c.c_int32), ("line", c.c_uint32), ("column", c.c_uint32),
                ("message", c.c_char * 4608)]


class EngineOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("model_path", c.c_char_p), ("cache_dir", c.c_char_p),
                ("cache_mode", c.c_uint32), ("kv_type", c.c_uint32), ("cache_bytes", c.c_uint64),
                ("cache_namespace", c.c_char_p), ("chat_template", c.c_char_p),
                ("backend", c.c_char_p), ("n_threads", c.c_uint32), ("context_tokens", c.c_uint32)]


class SessionOptions(c.Structure):  # the beginning, up to max_draft: the rest counts as zero
    _fields_ = [("struct_size", c.c_size_t), ("max_tokens", c.c_uint32), ("no_reuse", c.c_uint32),
                ("temperature", c.c_float), ("top_k", c.c_uint32), ("top_p", c.c_float), ("min_p", c.c_float),
                ("repetition_penalty", c.c_float), ("seed", c.c_uint64), ("stop", c.c_void_p),
                ("n_stop", c.c_size_t), ("presence_penalty", c.c_float), ("frequency_penalty", c.c_float),
                ("bias", c.c_void_p), ("n_bias", c.c_size_t), ("mask", c.c_void_p), ("mask_user", c.c_void_p),
                ("client", c.c_char_p), ("progress", c.c_void_p), ("progress_user", c.c_void_p),
                ("repair", c.c_char_p), ("spell_controls", c.c_uint32), ("cut_to_window", c.c_uint32),
                ("given", c.c_uint32), ("prompt_logprobs", c.c_uint32), ("prompt_logprobs_from", c.c_uint32),
                ("max_draft", c.c_uint32)]


class Token(c.Structure):
    _fields_ = [("id", c.c_int32), ("text", c.c_char_p), ("text_bytes", c.c_size_t)]


class Stats(c.Structure):  # the beginning, up to what is read
    _fields_ = [("struct_size", c.c_size_t), ("prompt_tokens", c.c_uint64),
                ("cached_tokens", c.c_uint64), ("computed_tokens", c.c_uint64),
                ("generated_tokens", c.c_uint64), ("modules_found", c.c_uint32),
                ("modules_encoded", c.c_uint32), ("cached_bytes", c.c_uint64),
                ("plan_us", c.c_uint64), ("lookup_us", c.c_uint64), ("encode_us", c.c_uint64),
                ("prefill_us", c.c_uint64), ("ttft_us", c.c_uint64), ("decode_us", c.c_uint64)]


class PromptCache:
    name = "promptcache"

    def __init__(self, library, file, cache, threads, context, kv="bf16", chat_template=None):
        self.lib, self.error = c.CDLL(str(library)), Error()
        self.library_loaded = time.perf_counter()
        options = EngineOptions(struct_size=c.sizeof(EngineOptions), model_path=str(file).encode(),
                                cache_dir=str(cache).encode(), n_threads=threads,
                                context_tokens=context, kv_type=KV_TYPES[kv],
                                chat_template=chat_template.encode() if chat_template else None)
        self.engine = c.c_void_p()
        self.call("pc_engine_open", c.byref(options), c.byref(self.engine))
        self.schemas = {}

    def call(self, name, *arguments):
        status = getattr(self.lib, name)(*arguments, c.byref(self.error))
        if status not in (0, DONE):
            sys.exit(f"{name}: {self.error.message.decode()}")
        return status

    def parse(self, kind, owner, text, *extra):
        handle, source = c.c_void_p(), text.encode()
        self.call(f"pc_{kind}_parse", owner, source, c.c_size_t(len(source)), *extra,
                  c.byref(handle))
        return handle

    def schema(self, n_cached):
        """A schema with one module of n_cached words, parsed once."""
        if n_cached not in self.schemas:
            module = f'<module name="m">{words(n_cached)}</module>' if n_cached else ""
            text = f'<schema name="s">{module}</schema>'
            self.schemas[n_cached] = self.parse("schema", self.engine, text, None)
        return self.schemas[n_cached]

    def run(self, n_cached, n_new, n_answer=1, reuse=True, schema=None):
        """One prompt and its answer; seconds of the whole call to the first token, and Stats."""
        schema = schema or self.schema(n_cached)
        text = f'<prompt schema="s">{"<m/>" if n_cached else ""}{words(n_new)}</prompt>'
        begin = time.perf_counter()
        prompt = self.parse("prompt", schema, text)
        options = SessionOptions(struct_size=c.sizeof(SessionOptions), max_tokens=n_answer,
                                 no_reuse=not reuse, given=GIVEN_MAX_DRAFT)
        session, token, stats = c.c_void_p(), Token(), Stats(struct_size=c.sizeof(Stats))
        self.call("pc_session_open", prompt, c.byref(options), c.byref(session))
        self.call("pc_session_next", session, c.byref(token))
        first = time.perf_counter() - begin
        while self.call("pc_session_next", session, c.byref(token)) != DONE:
            pass
        self.lib.pc_session_get_stats(session, c.byref(stats))
        self.lib.pc_session_close(session)
        self.lib.pc_prompt_close(prompt)
        if abs(stats.prompt_tokens - n_cached - n_new) > 8:
            sys.exit(f"{n_cached + n_new} words are {stats.prompt_tokens} tokens of this vocabulary: "
                     "use one that has each of promptcache_runs.WORDS")
        return first, stats

    def describe(self):
        """What pc_engine_describe says: shape, types, threads, instruction set."""
        text = c.c_void_p()
        self.call("pc_engine_describe", self.engine, c.byref(text))
        facts = json.loads(c.string_at(text))
        self.lib.pc_free(text)
        return facts

    def prefill_s(self, n):
        return self.run(0, n, reuse=False)[0]

    def cached_s(self, n_cached, n_new):
        return self.run(n_cached, n_new)[0]

    def first(self, n_cached, n_new):
        """As cached_s, with what was there and what was computed."""
        seconds, stats = self.run(n_cached, n_new)
        return {"s": seconds, "cached": stats.cached_tokens, "computed": stats.computed_tokens}

    def decode_s(self, depth, n):
        """Seconds a token, after a prompt of `depth` tokens."""
        stats = self.run(depth, 1, n_answer=n + 1)[1]
        return stats.decode_us / 1e6 / max(stats.generated_tokens - 1, 1)

    def attach_s(self, n_cached):
        """Finding and mapping a stored module, for a schema that holds no handle yet."""
        self.run(n_cached, 1)
        text = f'<schema name="s"><module name="m">{words(n_cached)}</module></schema>'
        schema = self.parse("schema", self.engine, text, None)
        stats = self.run(n_cached, 1, schema=schema)[1]
        self.lib.pc_schema_close(schema)
        return stats.lookup_us / 1e6
