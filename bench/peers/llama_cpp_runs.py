"""What the comparison asks of llama.cpp, through PyPI's llama-cpp-python: the same calls."""

import ctypes as c
import random
import time

import llama_cpp as lc


class LlamaCpp:
    def __init__(self, file, threads, context, flash):
        self.name = "llama.cpp" + (", flash attention" if flash else "")
        lc.llama_backend_init()
        lc.llama_log_set(self.quiet, c.c_void_p())
        self.library_loaded = time.perf_counter()
        self.model = lc.llama_model_load_from_file(str(file).encode(),
                                                   lc.llama_model_default_params())
        assert self.model, f"llama.cpp cannot load {file}"
        params = lc.llama_context_default_params()
        params.n_ctx = context
        params.n_batch = params.n_ubatch = 512
        params.n_threads = params.n_threads_batch = threads
        params.flash_attn_type = 1 if flash else 0
        self.context = lc.llama_init_from_model(self.model, params)
        assert self.context, "llama.cpp cannot make a context"
        self.memory = lc.llama_get_memory(self.context)
        self.held = 0
        draw = random.Random(1)
        self.tokens = [draw.randrange(3, 32000) for _ in range(context)]

    quiet = staticmethod(lc.llama_log_callback(lambda level, text, data: None))

    def decode(self, tokens):
        """Appends tokens; the logits of the last are ready when it returns."""
        for at in range(0, len(tokens), 512):
            piece = tokens[at:at + 512]
            array = (lc.llama_token * len(piece))(*piece)
            failed = lc.llama_decode(self.context, lc.llama_batch_get_one(array, len(piece)))
            assert failed == 0, "llama_decode failed"
        lc.llama_get_logits_ith(self.context, -1)

    def hold(self, n):
        """The first n tokens stand in its K/V memory, and nothing behind them."""
        if self.held < n:
            lc.llama_memory_clear(self.memory, True)
            self.decode(self.tokens[:n])
            self.held = n
        lc.llama_memory_seq_rm(self.memory, 0, n, -1)
        self.held = n

    def timed(self, tokens):
        begin = time.perf_counter()
        self.decode(tokens)
        return time.perf_counter() - begin

    def prefill_s(self, n):
        lc.llama_memory_clear(self.memory, True)
        self.held = 0
        return self.timed(self.tokens[:n])

    def cached_s(self, n_cached, n_new):
        self.hold(n_cached)
        return self.timed(self.tokens[n_cached:n_cached + n_new])

    def decode_s(self, depth, n):
        self.hold(depth)
        begin = time.perf_counter()
        for i in range(n):
            self.decode([self.tokens[depth + i]])
        return (time.perf_counter() - begin) / n

    def save(self, n, path):
        self.hold(n)
        array = (lc.llama_token * n)(*self.tokens[:n])
        assert lc.llama_state_seq_save_file(self.context, str(path).encode(), 0, array, n)

    def restore_s(self, n, path):
        array, count = (lc.llama_token * n)(), c.c_size_t()
        lc.llama_memory_clear(self.memory, True)
        begin = time.perf_counter()
        assert lc.llama_state_seq_load_file(self.context, str(path).encode(), 0, array, n,
                                            c.byref(count))
        elapsed = time.perf_counter() - begin
        self.held = n
        return elapsed
