"""What the comparison asks of llama.cpp, through PyPI's llama-cpp-python: the same calls."""

import ctypes as c
import random
import time

import llama_cpp as lc

SETTINGS = {  # name -> (flash attention, tokens computed at once)
    "flash attention, 512 at once": (True, 512), "512 at once": (False, 512),
    "flash attention, 128 at once": (True, 128), "128 at once": (False, 128),
}


class LlamaCpp:
    """One loaded model; a context for each setting, made when first used.

    `repack`: weights are rearranged for this CPU when they are loaded, which makes computing
    faster and the start slower. It is llama.cpp's default.
    """

    def __init__(self, file, threads, context, repack=True, kv="bf16"):
        lc.llama_backend_init()
        lc.llama_log_set(self.quiet, c.c_void_p())
        self.threads, self.context_tokens, self.kv = threads, context, kv
        self.library_loaded = time.perf_counter()
        params = lc.llama_model_default_params()
        params.use_extra_bufts = repack
        self.model = lc.llama_model_load_from_file(str(file).encode(), params)
        assert self.model, f"llama.cpp cannot load {file}"
        draw = random.Random(1)
        self.tokens = [draw.randrange(300, 32000) for _ in range(context)]
        self.contexts, self.held = {}, {}

    quiet = staticmethod(lc.llama_log_callback(lambda level, text, data: None))

    def use(self, setting):
        """What the following calls run with."""
        self.setting = setting
        if setting not in self.contexts:
            flash, at_once = SETTINGS[setting]
            params = lc.llama_context_default_params()
            params.n_ctx, params.n_batch, params.n_ubatch = self.context_tokens, 512, at_once
            params.n_threads = params.n_threads_batch = self.threads
            params.flash_attn_type = 1 if flash else 0
            if self.kv == "q8":
                params.type_k = params.type_v = 8  # GGML_TYPE_Q8_0
            context = lc.llama_init_from_model(self.model, params)
            assert context, "llama.cpp cannot make a context"
            self.contexts[setting], self.held[setting] = context, 0
        self.context = self.contexts[setting]
        self.memory = lc.llama_get_memory(self.context)

    def close(self, setting):
        lc.llama_free(self.contexts.pop(setting))

    def decode(self, tokens):
        """Appends tokens; the logits of the last are ready when it returns. No sampling is counted."""
        for at in range(0, len(tokens), 512):
            piece = tokens[at:at + 512]
            array = (lc.llama_token * len(piece))(*piece)
            failed = lc.llama_decode(self.context, lc.llama_batch_get_one(array, len(piece)))
            assert failed == 0, "llama_decode failed"
        lc.llama_get_logits_ith(self.context, -1)

    def hold(self, n):
        """The first n tokens stand in its K/V memory, and nothing behind them."""
        if self.held[self.setting] < n:
            lc.llama_memory_clear(self.memory, True)
            self.decode(self.tokens[:n])
        lc.llama_memory_seq_rm(self.memory, 0, n, -1)
        self.held[self.setting] = n

    def timed(self, tokens):
        begin = time.perf_counter()
        self.decode(tokens)
        return time.perf_counter() - begin

    def prefill_s(self, n):
        lc.llama_memory_clear(self.memory, True)
        elapsed = self.timed(self.tokens[:n])
        self.held[self.setting] = n
        return elapsed

    def cached_s(self, n_cached, n_new):
        self.hold(n_cached)
        return self.timed(self.tokens[n_cached:n_cached + n_new])

    def decode_s(self, depth, n):
        """Seconds a token."""
        self.hold(depth)
        begin = time.perf_counter()
        for i in range(n):
            self.decode([self.tokens[depth + i]])
        return (time.perf_counter() - begin) / n

    def save(self, n, path):
        self.hold(n)
        array = (lc.llama_token * n)(*self.tokens[:n])
        assert lc.llama_state_seq_save_file(self.context, str(path).encode(), 0, array, n)

    def attach_s(self, n, path):
        """Reading its saved state of n tokens back."""
        array, count = (lc.llama_token * n)(), c.c_size_t()
        lc.llama_memory_clear(self.memory, True)
        begin = time.perf_counter()
        read = lc.llama_state_seq_load_file(self.context, str(path).encode(), 0, array, n,
                                            c.byref(count))
        elapsed = time.perf_counter() - begin
        assert read and count.value == n, "llama.cpp cannot read its state back"
        self.held[self.setting] = n
        return elapsed
