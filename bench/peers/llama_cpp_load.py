"""A load of many requests in llama.cpp's own batches: what a good server makes of them.

Continuous batching over its low-level calls (PyPI's llama-cpp-python). Each step is one
llama_decode: a token of all who decode, then pieces of prompts in the order in which they came, up
to so many tokens. Beginnings of prompts that were computed once are kept or computed by one
request for all who begin alike, and handed on with llama_memory_seq_cp. Nothing but computing and
taking the likeliest token is counted: requests come as tokens.
"""

import ctypes as c
import json
import time

import llama_cpp as lc
import numpy

TYPES = {"f16": 1, "bf16": 30}  # ggml_type


class Beginning:
    """A beginning of prompts, in the sequence of whoever computes it."""

    def __init__(self, owner, n_tokens):
        self.owner, self.n_tokens = owner, n_tokens

    def ready(self):
        return self.owner.n_done >= self.n_tokens


class Sequence:
    """A prompt and its answer. shared: [(names, tokens)] of its beginnings."""

    def __init__(self, prompt, shared, n_answer, at):
        self.prompt, self.shared, self.n_answer, self.at = prompt, shared, n_answer, at
        self.id, self.n_done, self.waits_for = None, 0, None
        self.own_from = 0  # computed by itself: no other sequence had what stands before
        self.begun = []    # names of the beginnings that it computes for others
        self.token, self.times = None, []

    def prefills(self):
        return self.n_done < len(self.prompt) and not self.waits_for


class LlamaCppLoad:
    """setting: flash, unified, step (tokens of a step at most), kv (f16 or bf16)."""

    def __init__(self, file, threads, setting, cells, sequences):
        lc.llama_backend_init()
        lc.llama_log_set(self.quiet, c.c_void_p())
        self.model = lc.llama_model_load_from_file(str(file).encode(),
                                                   lc.llama_model_default_params())
        assert self.model, f"llama.cpp cannot load {file}"
        self.vocab = lc.llama_model_get_vocab(self.model)
        self.n_vocab = lc.llama_vocab_n_tokens(self.vocab)
        self.step_tokens, self.unified = setting["step"], setting["unified"]
        params = lc.llama_context_default_params()
        params.n_seq_max, params.kv_unified = sequences, setting["unified"]
        params.n_ctx = cells["unified" if setting["unified"] else "apart"]
        params.n_batch = params.n_ubatch = self.step_tokens
        params.n_outputs_max = sequences
        params.n_threads = params.n_threads_batch = threads
        params.flash_attn_type = 1 if setting["flash"] else 0
        params.type_k = params.type_v = TYPES[setting["kv"]]
        self.context = lc.llama_init_from_model(self.model, params)
        assert self.context, "llama.cpp cannot make a context"
        self.memory = lc.llama_get_memory(self.context)
        self.batch = lc.llama_batch_init(self.step_tokens, 0, 1)
        self.kept, self.free = {}, list(range(sequences))

    quiet = staticmethod(lc.llama_log_callback(lambda level, text, data: None))

    def tokens_of(self, text):
        """Of words; the tokenizer puts the space before the first itself."""
        raw, room = text.removeprefix(" ").encode(), len(text) + 8
        array = (lc.llama_token * room)()
        n = lc.llama_tokenize(self.vocab, raw, len(raw), array, room, False, False)
        assert n >= 0, "llama.cpp cannot tokenise a text"
        return array[:n]

    def run(self, path):
        """As load_bench's: for each request when it came, what it computed, when it got tokens."""
        with open(path) as file:
            workload = json.load(file)
        self.modules = {name: self.tokens_of(text) for name, text in workload["modules"].items()}
        self.warm(workload["warm"])
        coming = [self.sequence(r["modules"], r["text"], r["answer"], r["at"])
                  for r in workload["requests"]]
        answered, self.running, self.begun, self.start = list(coming), [], {}, time.perf_counter()
        while coming or self.running:
            now = time.perf_counter() - self.start
            while coming and self.free and coming[0].at <= now:
                self.admit(coming.pop(0))
            if self.running:
                self.step()
            else:
                time.sleep(max(0, coming[0].at - now))
        return [{"at": s.at, "computed": len(s.prompt) - s.own_from, "token_s": s.times}
                for s in answered]

    def sequence(self, modules, text, n_answer, at):
        prompt, shared = [lc.llama_vocab_bos(self.vocab)], []
        for i, name in enumerate(modules):
            prompt += self.modules[name]
            shared.append((tuple(modules[:i + 1]), len(prompt)))
        return Sequence(prompt + self.tokens_of(text), shared, n_answer, at)

    def warm(self, beginnings):
        """Keeps these, each in a sequence of its own; forgets those of other modules' words."""
        wanted = {tuple(names): self.sequence(names, "", 0, 0) for names in beginnings}
        for names, kept in list(self.kept.items()):
            if names not in wanted or wanted[names].prompt != kept.owner.prompt:
                self.release(self.kept.pop(names).owner)
        for names, sequence in wanted.items():
            if names not in self.kept:
                self.running, self.begun = [], {}
                self.admit(sequence)
                while sequence.n_done < len(sequence.prompt):
                    self.step()
                self.kept[names] = Beginning(sequence, len(sequence.prompt))

    def admit(self, sequence):
        """It waits for the longest beginning that somebody has or computes, and goes on itself."""
        sequence.id = self.free.pop(0)
        for names, n_tokens in sequence.shared:
            known = self.kept.get(names) or self.begun.get(names)
            if known:
                sequence.waits_for = known
            else:
                self.begun[names] = Beginning(sequence, n_tokens)
                sequence.begun.append(names)
        self.running.append(sequence)
        self.share(sequence)

    def share(self, sequence):
        """Takes the beginning over, if it is computed."""
        known = sequence.waits_for
        if not known or not known.ready():
            return
        # Memory that is not unified is copied whole, and what is too much is forgotten.
        lc.llama_memory_seq_cp(self.memory, known.owner.id, sequence.id, -1, -1)
        lc.llama_memory_seq_rm(self.memory, sequence.id, known.n_tokens, -1)
        sequence.n_done = sequence.own_from = known.n_tokens
        sequence.waits_for = None

    def step(self):
        """One llama_decode, and the next token of each who has its logits."""
        self.batch.n_tokens, self.outputs = 0, []
        for s in self.running:
            if s.token is not None:
                self.put(s, [s.token])
        for s in self.running:
            room = self.step_tokens - self.batch.n_tokens
            if room > 0 and s.prefills():
                self.put(s, s.prompt[s.n_done:s.n_done + room])
        failed = lc.llama_decode(self.context, self.batch)
        assert failed == 0, f"llama_decode failed with {failed}"
        for s in self.running:
            self.share(s)
        for s, row in self.outputs:
            logits = lc.llama_get_logits_ith(self.context, row)
            s.token = int(numpy.ctypeslib.as_array(logits, (self.n_vocab,)).argmax())
            s.times.append(time.perf_counter() - self.start)
            if len(s.times) == s.n_answer:
                self.finish(s)

    def put(self, sequence, tokens):
        batch, at = self.batch, self.batch.n_tokens
        for i, token in enumerate(tokens):
            batch.token[at + i], batch.pos[at + i] = token, sequence.n_done + i
            batch.n_seq_id[at + i], batch.seq_id[at + i][0] = 1, sequence.id
            batch.logits[at + i] = 0
        batch.n_tokens = at + len(tokens)
        sequence.n_done += len(tokens)
        if sequence.n_done >= len(sequence.prompt) and sequence.n_answer:
            batch.logits[batch.n_tokens - 1] = 1
            self.outputs.append((sequence, batch.n_tokens - 1))

    def finish(self, sequence):
        """Those who waited for what it began have taken it over."""
        self.running.remove(sequence)
        for names in sequence.begun:
            del self.begun[names]
        self.release(sequence)

    def release(self, sequence):
        lc.llama_memory_seq_rm(self.memory, sequence.id, -1, -1)
        self.free.append(sequence.id)
