#!/usr/bin/env python3
"""Computes what pretrained checkpoints answer, for the tests labelled `real`.

    python tests/golden/make_real_fixtures.py [--models DIR] [--only NAME] STEP...

Steps, each of which adds to tests/golden/real/<model>.json:

    reference   transformers 5.23 with torch 2.15, f32, on the weights that gguf's
                dequantize() gives: token ids of each prompt of real_prompts.py, the
                largest logits at its end, their norm, 128 random projections of all
                logits, the mean negative log-likelihood of its tokens, 32 greedy
                tokens with their margins, and norm and 16 projections of the logits
                behind each of them but the last
    bfloat16    transformers again, weights and activations in bf16: its distance
    llama.cpp   llama-cpp-python 0.3.36 on the file itself, with its usual settings, with
                f32 and with q8_0 states: their distances

A distance is the L2 norm of the difference of all logits over the norm of the
reference's; that of a prompt is the root mean square over its end and the 31 tokens behind
it, each after the reference's own, since the distances of single positions differ tenfold. It is
estimated from the projections, here as in the tests: the signs of projection j are bits of
splitmix64 of the token's id (signs() below), and the mean square of K such sums estimates
a vector's square norm within sqrt(2 / K).

scripts/real-models puts the checkpoints where they are looked for.
"""

import argparse
import ctypes
import json
import os
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import real_prompts  # noqa: E402

PROJECTIONS = 128
ANSWER_PROJECTIONS = 16  # the first of them, of the positions in an answer
LARGEST = 64
GREEDY = 32

MODELS = {
    "smollm2-135m-instruct": ("SmolLM2-135M-Instruct.Q4_1.gguf", real_prompts.SMOLLM_CHAT),
    "gemma-3-270m": ("gemma-3-270m-q4_k_m.gguf", real_prompts.GEMMA_CHAT),
}


def splitmix64(x):
    x = (x + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def signs(vocab):
    """[vocab, PROJECTIONS] of +1 and -1."""
    with np.errstate(over="ignore"):
        words = splitmix64(np.arange(2 * vocab, dtype=np.uint64)).reshape(vocab, 2)
    bits = (words[:, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    return (1 - 2 * bits.reshape(vocab, PROJECTIONS).astype(np.int8)).astype(np.int8)


def project(logits):
    return logits.astype(np.float64) @ signs(len(logits)).astype(np.float64)


def distance(rows, prompt):
    """rows: [GREEDY, vocab], behind the prompt and behind each greedy token but the last."""
    squares = []
    for row, norm, sums in zip(rows, [prompt["norm"]] + prompt["answer_norms"],
                               [prompt["projections"]] + prompt["answer_projections"], strict=True):
        off = project(row)[:len(sums)] - np.array(sums)
        squares.append(np.mean(off ** 2) / norm ** 2)
    return rounded([np.sqrt(np.mean(squares))], 4)[0]


def norm(logits):
    return float(np.linalg.norm(logits.astype(np.float64)))


def rounded(values, digits=8):
    return [float(f"{v:.{digits}g}") for v in values]


# ------------------------------------------------------------------ transformers


def check_weights(model, path):
    """transformers' weights are gguf's, but for the order of llama's rotated rows and the
    one that Gemma's file adds to its norms."""
    import gguf
    ours = {}
    for t in gguf.GGUFReader(path).tensors:
        ours[t.name] = gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float32)
    names = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
             "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
             "ffn_down": "mlp.down_proj"}
    theirs = {n: p.detach().numpy() for n, p in model.named_parameters()}
    config = model.config
    for layer in range(config.num_hidden_layers):
        for mine, name in names.items():
            a, b = ours[f"blk.{layer}.{mine}.weight"], theirs[f"model.layers.{layer}.{name}.weight"]
            if config.model_type == "llama" and mine in ("attn_q", "attn_k"):
                a = a.reshape(-1, config.head_dim // 2, 2, a.shape[1]).swapaxes(1, 2).reshape(a.shape)
            assert np.array_equal(a, b), (layer, name)
    offset = 1 if config.model_type.startswith("gemma") else 0
    assert np.array_equal(ours["output_norm.weight"] - np.float32(offset), theirs["model.norm.weight"])
    assert np.array_equal(ours["token_embd.weight"], theirs["model.embed_tokens.weight"])
    assert "output.weight" not in ours, "the head is the embedding"


def load(folder, file, dtype):
    import torch
    from transformers import AutoModelForCausalLM
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32,
                                                 attn_implementation="eager").eval()
    check_weights(model, folder / file)
    return model.to(dtype)


def prefill(model, tokens):
    """All rows' last hidden states, and the cache."""
    import torch
    with torch.no_grad():
        out = model.model(input_ids=torch.tensor([tokens]), use_cache=True)
    return out.last_hidden_state[0], out.past_key_values


def logits_of(model, rows):
    import torch
    with torch.no_grad():
        return model.lm_head(rows).float()


def log_likelihood(model, hidden, tokens):
    """Mean negative log-likelihood of tokens[1:], a few rows of logits at a time."""
    import torch
    total = 0.0
    for first in range(0, len(tokens) - 1, 64):
        rows = hidden[first:min(first + 64, len(tokens) - 1)]
        targets = torch.tensor(tokens[first + 1:first + 1 + len(rows)])
        total += torch.nn.functional.cross_entropy(logits_of(model, rows).double(), targets, reduction="sum").item()
    return total / (len(tokens) - 1)


def greedy(model, logits, past):
    """The tokens, their margins, and the logits that each was taken from."""
    import torch
    ids, margins, rows = [], [], []
    for _ in range(GREEDY):
        rows.append(logits.numpy())
        top = torch.topk(logits.double(), 2)
        ids.append(int(top.indices[0]))
        margins.append(float(top.values[0] - top.values[1]))
        with torch.no_grad():
            out = model.model(input_ids=torch.tensor([[ids[-1]]]), past_key_values=past, use_cache=True)
        logits, past = logits_of(model, out.last_hidden_state[0, -1]), out.past_key_values
    return ids, margins, rows


def reference(folder, file, chat, _, save):
    import torch
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
    model = load(folder, file, torch.float32)
    bos = [tokenizer.bos_token_id] if model.config.model_type.startswith("gemma") else []
    result = {"file": file, "vocab_size": model.config.vocab_size, "prompts": []}
    for name, (text, controls, most) in real_prompts.prompts(chat).items():
        ids = tokenizer(text, add_special_tokens=False, split_special_tokens=not controls)["input_ids"]
        tokens = (bos + ids)[:most]
        hidden, past = prefill(model, tokens)
        last = logits_of(model, hidden[-1])
        logits = last.numpy()
        largest = np.argsort(-logits, kind="stable")[:LARGEST]
        ids, margins, rows = greedy(model, last, past)
        result["prompts"].append({
            "name": name, "tokens": tokens, "largest": largest.tolist(),
            "logits": rounded(logits[largest]), "norm": norm(logits),
            "projections": rounded(project(logits)), "nll": log_likelihood(model, hidden, tokens),
            "greedy": ids, "margins": rounded(margins, 5),
            "answer_norms": rounded([norm(row) for row in rows[1:]]),
            "answer_projections": [rounded(project(row)[:ANSWER_PROJECTIONS], 6) for row in rows[1:]]})
        print(f"{name:12} {len(tokens):5} tokens, nll {result['prompts'][-1]['nll']:.4f}: "
              f"{tokenizer.decode(ids)!r}", flush=True)
        save(result)


def bfloat16(folder, file, _, result, save):
    import torch
    model = load(folder, file, torch.bfloat16)
    for prompt in result["prompts"]:
        hidden, _ = prefill(model, prompt["tokens"] + prompt["greedy"][:-1])
        prompt["transformers_bf16"] = distance(logits_of(model, hidden[-GREEDY:]).numpy(), prompt)
        print(f"{prompt['name']:12} {prompt['transformers_bf16']:.2e}", flush=True)
        save(result)


# --------------------------------------------------------------------- llama.cpp

# ggml's number of the states' type, and whether attention may be flash attention (whose kernels
# round f32 states to f16); None: as it comes.
STATES = {"llama_cpp_f32": (0, 0), "llama_cpp": (None, None), "llama_cpp_q8": (8, None)}


def llama_logits(lib, model, tokens, states, first):
    """[len(tokens) - first, vocab], of the rows from `first` on."""
    params = lib.llama_context_default_params()
    params.n_ctx = max(256, (len(tokens) + 255) // 256 * 256)
    params.n_threads = params.n_threads_batch = 1
    kind, flash = states
    if kind is not None:
        params.type_k = params.type_v = kind
    if flash is not None:
        params.flash_attn_type = flash
    context = lib.llama_init_from_model(model, params)
    assert context
    rows = []
    vocab = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))
    for begin in range(0, len(tokens), params.n_batch):
        part = tokens[begin:begin + params.n_batch]
        batch = lib.llama_batch_init(len(part), 0, 1)
        batch.n_tokens = len(part)
        for i, token in enumerate(part):
            batch.token[i], batch.pos[i], batch.logits[i] = token, begin + i, begin + i >= first
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, 0
        assert lib.llama_decode(context, batch) == 0
        n = sum(begin + i >= first for i in range(len(part)))
        if n:
            rows.append(np.ctypeslib.as_array(lib.llama_get_logits(context), (n, vocab)).copy())
        lib.llama_batch_free(batch)
    lib.llama_free(context)
    return np.concatenate(rows)


def llama_usual(lib, model, prompt):
    """With its usual settings: the distance, how many of the greedy tokens are its own too,
    each after the reference's, and the likelihood of a short prompt's tokens."""
    tokens, n = prompt["tokens"], len(prompt["tokens"])
    short = n <= 320
    rows = llama_logits(lib, model, tokens + prompt["greedy"][:-1], STATES["llama_cpp"], 0 if short else n - 1)
    after = rows[-GREEDY:]
    prompt["llama_cpp"] = distance(after, prompt)
    prompt["llama_cpp_greedy"] = int(sum(after.argmax(axis=1) == np.array(prompt["greedy"])))
    if short:
        before = rows[:n - 1].astype(np.float64)
        before -= before.max(axis=1, keepdims=True)
        picked = before[np.arange(n - 1), tokens[1:]]
        prompt["llama_cpp_nll"] = float(np.mean(np.log(np.exp(before).sum(axis=1)) - picked))


def llama_cpp(folder, file, _, result, save):
    import llama_cpp as lib

    @ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
    def on_log(level, text, _):
        if level == 4:
            print("llama.cpp:", text.decode().strip())

    lib.llama_log_set(on_log, None)
    params = lib.llama_model_default_params()
    params.n_gpu_layers = 0
    model = lib.llama_model_load_from_file(str(folder / file).encode(), params)
    assert model, file
    for prompt in result["prompts"]:
        llama_usual(lib, model, prompt)
        for name in ("llama_cpp_f32", "llama_cpp_q8"):
            tokens = prompt["tokens"] + prompt["greedy"][:-1]
            prompt[name] = distance(llama_logits(lib, model, tokens, STATES[name], len(prompt["tokens"]) - 1), prompt)
        print(f"{prompt['name']:12}", {k: v for k, v in prompt.items() if k.startswith("llama_cpp")}, flush=True)
        save(result)
    lib.llama_model_free(model)


# -------------------------------------------------------------------------- main

STEPS = {"reference": reference, "bfloat16": bfloat16, "llama.cpp": llama_cpp}


def default_folder():
    if os.environ.get("PC_REAL_MODELS"):
        return pathlib.Path(os.environ["PC_REAL_MODELS"])
    cache = os.environ.get("XDG_CACHE_HOME", "")
    cache = pathlib.Path(cache) if cache.startswith("/") else pathlib.Path.home() / ".cache"
    return cache / "promptcache-real-models"


def write(result, path):
    prompts = ",\n  ".join(json.dumps(p) for p in result["prompts"])
    head = json.dumps({k: v for k, v in result.items() if k != "prompts"})[1:-1]
    path.write_text("{" + head + ",\n \"prompts\": [\n  " + prompts + "]}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, default=default_folder(), metavar="DIR")
    parser.add_argument("--only", choices=MODELS, metavar="NAME")
    parser.add_argument("steps", nargs="+", choices=STEPS, metavar="STEP")
    args = parser.parse_args()
    for name, (file, chat) in MODELS.items():
        if args.only not in (None, name):
            continue
        path = HERE / "real" / f"{name}.json"
        for step in args.steps:
            print(f"-- {name}, {step}", flush=True)
            result = json.loads(path.read_text()) if step != "reference" else None
            STEPS[step](args.models, file, chat, result, lambda result, path=path: write(result, path))


if __name__ == "__main__":
    main()
