#!/usr/bin/env python3
"""Tiny seeded checkpoints and the logits that transformers computes from them.

    python tests/golden/make_model_fixtures.py [--out tests/golden/models]

Needs torch 2.15 and transformers 5.23; the results are deterministic for one
version of both. Each folder <out>/<name>/ holds

  config.json, *.safetensors[, model.safetensors.index.json, generation_config.json]
  expected.json   {"vocab_size": V, "cases": [{"name", "tokens", "positions",
                   "logits_begin"}]}: logits_begin counts floats into expected.bin
  expected.bin    little-endian f32 [n_tokens][V] for each case: the logits at
                  EVERY position, computed in f32 (eager attention) from the
                  weights as they are stored

Case "prompt" has positions 0..n-1. Case "jump", where present, places the
second half of the tokens far behind the first: a uniform shift would change
nothing, a jump shows the low frequencies. A row sees the rows before it.

<out>/rope.json lists RoPE configurations with the inverse frequencies (f32)
and the attention factor that transformers derives from them.

Folder names: what they exercise; `_v4` has the config.json dialect of
transformers up to 4 (rope_theta, rope_scaling, torch_dtype).
"""

import argparse
import json
import pathlib
import shutil

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.utils import logging

VOCAB = 64
N_TOKENS = 40
SHAPE = dict(
    vocab_size=VOCAB, hidden_size=32, intermediate_size=24, num_hidden_layers=2,
    num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=1024,
    bos_token_id=1, eos_token_id=2, attn_implementation="eager",
)
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=16.0, low_freq_factor=1.0,
              high_freq_factor=4.0, original_max_position_embeddings=64)
YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=256)
LINEAR = dict(rope_type="linear", rope_theta=10000.0, factor=4.0)
SMOLLM = dict(SHAPE, hidden_size=48, num_attention_heads=3, intermediate_size=40,
              tie_word_embeddings=True, rms_norm_eps=1e-5,
              rope_parameters=dict(rope_type="default", rope_theta=100000.0))

# name: (config class, fields, stored type, options)
MODELS = {
    "llama": (LlamaConfig, dict(SHAPE), torch.float32, {}),
    "llama_bias": (LlamaConfig, dict(SHAPE, attention_bias=True, mlp_bias=True), torch.float32, {}),
    "llama_rope_llama3_tied_bf16": (
        LlamaConfig, dict(SHAPE, tie_word_embeddings=True, rope_parameters=LLAMA3), torch.bfloat16,
        dict(jump=True, generation=dict(bos_token_id=1, eos_token_id=[2, 7]))),
    "llama_rope_llama3_tied_bf16_v4": (
        LlamaConfig, dict(SHAPE, tie_word_embeddings=True, rope_parameters=LLAMA3), torch.bfloat16,
        dict(jump=True, v4=True)),
    "llama_rope_linear": (LlamaConfig, dict(SHAPE, rope_parameters=LINEAR), torch.float32,
                          dict(jump=True)),
    "llama_rope_yarn": (LlamaConfig, dict(SHAPE, rope_parameters=YARN), torch.float32,
                        dict(jump=True)),
    "llama_sharded_f16": (LlamaConfig, dict(SHAPE), torch.float16, dict(shards=2)),
    "mistral_window8": (MistralConfig, dict(SHAPE, sliding_window=8), torch.float32, {}),
    "qwen2": (Qwen2Config, dict(SHAPE, tie_word_embeddings=True,
                                rope_parameters=dict(rope_type="default", rope_theta=1000000.0)),
              torch.float32, {}),
    "qwen2_window": (Qwen2Config, dict(SHAPE, tie_word_embeddings=True, use_sliding_window=True,
                                       sliding_window=6, max_window_layers=1), torch.bfloat16, {}),
    "qwen3": (Qwen3Config, dict(SHAPE, intermediate_size=16, head_dim=16, num_attention_heads=4,
                                num_key_value_heads=2, tie_word_embeddings=True), torch.float32, {}),
    "smollm2_v4": (LlamaConfig, SMOLLM, torch.bfloat16, dict(v4=True)),
}

# What a checkpoint of the SmolLM2 family also says, to no effect.
SMOLLM_EXTRAS = {"is_llama_config": True, "rope_interleaved": False, "pretraining_tp": 1,
                 "transformers.js_config": {"kv_cache_dtype": {"fp16": "float16"}}}


def randomize(model, seed):
    """Weights large enough that every part of the network moves the logits."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            noise = torch.randn(p.shape, generator=generator)
            if "norm" in name:
                p.copy_(1.0 + 0.2 * noise)
            elif p.dim() == 1:
                p.copy_(0.3 * noise)
            elif "embed_tokens" in name or "lm_head" in name:
                p.copy_(noise / p.shape[1] ** 0.25)
            else:
                gain = 1.5 if "q_proj" in name or "k_proj" in name else 1.0
                p.copy_(gain * noise / p.shape[1] ** 0.5)


def stored_tensors(model, dtype):
    tied = model.config.tie_word_embeddings
    return {name: p.detach().to(dtype).contiguous() for name, p in model.named_parameters()
            if not (tied and name == "lm_head.weight")}


def save_weights(folder, tensors, shards):
    metadata = {"format": "pt"}
    if shards == 1:
        save_file(tensors, folder / "model.safetensors", metadata=metadata)
        return
    names = sorted(tensors)
    weight_map = {}
    for i in range(shards):
        file = f"model-{i + 1:05}-of-{shards:05}.safetensors"
        mine = names[i::shards]
        save_file({n: tensors[n] for n in mine}, folder / file, metadata=metadata)
        weight_map.update({n: file for n in mine})
    total = sum(t.numel() * t.element_size() for t in tensors.values())
    write_json(folder / "model.safetensors.index.json",
               {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))})


def write_json(path, value, indent=1):
    path.write_text(json.dumps(value, indent=indent) + "\n")


def v4_dialect(config, extras):
    """config.json as transformers 4 wrote it."""
    config = dict(config)
    rope = dict(config.pop("rope_parameters"))
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = None if rope["rope_type"] == "default" else rope
    config["torch_dtype"] = config.pop("dtype")
    config["transformers_version"] = "4.45.0"
    config.update(extras)
    return dict(sorted(config.items()))


def logits_of(model, tokens, positions):
    ids = torch.tensor([tokens])
    with torch.no_grad():
        if positions == list(range(len(tokens))):
            return model(input_ids=ids, use_cache=False).logits[0]
        # An explicit mask: positions that jump would otherwise be read as packed sequences.
        n = len(tokens)
        mask = torch.full((n, n), torch.finfo(torch.float32).min).triu(1)[None, None]
        return model(input_ids=ids, position_ids=torch.tensor([positions]),
                     attention_mask=mask, use_cache=False).logits[0]


def make_model(out, name, seed):
    config_class, fields, dtype, options = MODELS[name]
    folder = out / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

    model = AutoModelForCausalLM.from_config(config_class(**fields), dtype=torch.float32)
    randomize(model, seed)
    save_weights(folder, stored_tensors(model, dtype), options.get("shards", 1))
    model.config.dtype = dtype
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    if options.get("v4"):
        config = v4_dialect(config, SMOLLM_EXTRAS if name.startswith("smollm") else {})
    write_json(folder / "config.json", config)
    if "generation" in options:
        write_json(folder / "generation_config.json", options["generation"])

    # The reference starts from the files, as a user would.
    reference = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32,
                                                     attn_implementation="eager").eval()
    generator = torch.Generator().manual_seed(seed + 1000)
    tokens = [1] + torch.randint(3, VOCAB, (N_TOKENS - 1,), generator=generator).tolist()
    cases = [("prompt", list(range(N_TOKENS)))]
    if options.get("jump"):
        half = N_TOKENS // 2
        cases.append(("jump", [i if i < half else i + 300 for i in range(N_TOKENS)]))
    listing, blobs, begin = [], [], 0
    for case, positions in cases:
        logits = logits_of(reference, tokens, positions).contiguous()
        listing.append({"name": case, "tokens": tokens, "positions": positions,
                        "logits_begin": begin})
        blobs.append(logits.numpy().astype("<f4").tobytes())
        begin += logits.numel()
    write_json(folder / "expected.json", {"vocab_size": VOCAB, "cases": listing}, indent=None)
    (folder / "expected.bin").write_bytes(b"".join(blobs))


ROPES = [
    dict(rope_type="default", rope_theta=10000.0),
    dict(rope_type="default", rope_theta=1000000.0),
    dict(rope_type="linear", rope_theta=10000.0, factor=2.5),
    dict(rope_type="linear", rope_theta=10000.0, factor=2.0, partial_rotary_factor=0.5),
    dict(rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0,
         high_freq_factor=4.0, original_max_position_embeddings=8192),
    dict(rope_type="llama3", rope_theta=500000.0, factor=32.0, low_freq_factor=1.0,
         high_freq_factor=4.0, original_max_position_embeddings=8192),
    dict(rope_type="yarn", rope_theta=1000000.0, factor=4.0,
         original_max_position_embeddings=32768),
    dict(rope_type="yarn", rope_theta=150000.0, factor=32.0, beta_fast=32.0, beta_slow=1.0,
         truncate=False, original_max_position_embeddings=4096),
    dict(rope_type="yarn", rope_theta=10000.0, factor=40.0, mscale=0.707, mscale_all_dim=1.0,
         original_max_position_embeddings=4096),
    dict(rope_type="yarn", rope_theta=10000.0, factor=16.0, attention_factor=1.25, beta_fast=16,
         beta_slow=2, original_max_position_embeddings=2048),
    dict(rope_type="yarn", rope_theta=10000.0, factor=None, mscale=1.0,
         original_max_position_embeddings=16384),
    dict(rope_type="yarn", rope_theta=10000.0, factor=2.0, partial_rotary_factor=0.5,
         original_max_position_embeddings=2048),
]


def make_ropes(out):
    rows = []
    for head_dim in (64, 128):
        for rope in ROPES:
            config = LlamaConfig(hidden_size=4 * head_dim, num_attention_heads=4,
                                 max_position_embeddings=131072, rope_parameters=dict(rope))
            if rope["rope_type"] == "default":
                inv_freq, factor = LlamaRotaryEmbedding.compute_default_rope_parameters(config)
            else:
                inv_freq, factor = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config)
            rows.append({"head_dim": head_dim, "max_position_embeddings": 131072,
                         "rope_parameters": rope, "inv_freq": inv_freq.tolist(),
                         "attention_factor": float(factor)})
    lines = ",\n".join(json.dumps(row) for row in rows)
    (out / "rope.json").write_text(f"[\n{lines}\n]\n")


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=here / "models")
    out = parser.parse_args().out
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    out.mkdir(parents=True, exist_ok=True)
    # The two dialects of one checkpoint share their weights.
    seeds = {name: i for i, name in enumerate(n for n in MODELS if not n.endswith("bf16_v4"))}
    for name in MODELS:
        make_model(out, name, 20 + seeds[name.removesuffix("_v4") if name not in seeds else name])
    make_ropes(out)


if __name__ == "__main__":
    main()
