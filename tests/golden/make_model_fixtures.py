#!/usr/bin/env python3
"""Tiny seeded checkpoints and the logits that transformers computes from them.

    python tests/golden/make_model_fixtures.py [--out tests/golden/models] [--only NAME...]

Needs torch 2.15 and transformers 5.23 (of mixtures of experts: 5.24); the results are deterministic for one
version of both. Each folder <out>/<name>/ holds

  config.json, *.safetensors[, model.safetensors.index.json, generation_config.json]
  expected.json   {"vocab_size": V, "cases": [{"name", "tokens", "positions",
                   "logits_begin"[, "context"]}]}: logits_begin counts floats into
                   expected.bin
  expected.bin    little-endian f32 [n_tokens][V] for each case: the logits at
                  EVERY position, computed in f32 (eager attention) from the
                  weights as they are stored

Case "prompt" has positions 0..n-1. Case "jump", where present, places the
second half of the tokens far behind the first: a uniform shift would change
nothing, a jump shows the low frequencies. A row sees the rows before it.
Cases "short" and "long" are LongRoPE's: all rows are rotated by the table that
belongs to a model opened for "context" tokens. transformers chooses a table by
the length of the call: 24 tokens take the short one (trained on 64), 66 the
long one for every row.

<out>/rope.json lists RoPE configurations with the inverse frequencies (f32)
and the attention factor that transformers derives from them; LongRoPE's for a
sequence of "seq_len".

Folder names: see model_list.py; `_v4` has the config.json dialect of
transformers up to 4 (rope_theta, rope_scaling, torch_dtype).
"""

import argparse
import json
import pathlib
import re
import shutil
import tempfile

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, LlamaConfig
from transformers.integrations.mxfp4 import convert_moe_packed_tensors
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.pytorch_utils import Conv1D
from transformers.utils import logging

from model_list import MODELS, VOCAB, seed_of

N_TOKENS = 40
LONGROPE = [("short", 24, 64), ("long", 66, 256)]  # case, tokens, context


SEEING = ("visual", "vision", "multi_modal")


def model_class(config):
    return AutoModelForImageTextToText if hasattr(config, "vision_config") else AutoModelForCausalLM


def randomize(model, seed):
    """Weights large enough that every part of the network moves the logits."""
    generator = torch.Generator().manual_seed(seed)
    adds_one = re.match("gemma[23]|qwen3_(5|next)", model.config.model_type)  # to weights of norms
    norm_weight = 0.0 if adds_one else 1.0
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            noise = torch.randn(p.shape, generator=generator)
            if any(part in name for part in SEEING):
                p.copy_(0.1 * noise)
            elif name.endswith("e_score_correction_bias"):
                p.copy_(0.1 * noise)  # of the size of the scores
            elif name.endswith("A_log"):
                p.copy_(noise - 2)  # states that last from a token to some ten
            elif name.endswith(("linear_attn.norm.weight", "mamba.norm.weight", "mixer.norm.weight")):
                p.copy_(1.0 + 0.2 * noise)
            elif p.dim() == 1 or name.endswith("proj_bias"):
                p.copy_(0.3 * noise if name.endswith("bias") else norm_weight + 0.2 * noise)
                if "gemma4" in model.config.model_type and name.endswith("q_norm.weight"):
                    p.mul_(0.3)  # Gemma 4 scales scores by these weights alone
            elif p.dim() == 3:  # of all experts
                p.copy_(noise / p.shape[2] ** 0.5)
            elif any(part in name for part in ("embed", "lm_head", "wte", "wpe")):
                p.copy_(noise / p.shape[1] ** 0.25)
            else:
                queries = ("q_proj", "k_proj", "qkv", "query_key_value", "c_attn")
                gain = 1.5 if any(part in name for part in queries) else 1.0
                fan_in = p.shape[0] if isinstance(model.get_submodule(name.removesuffix(".weight")),
                                                  Conv1D) else p.shape[1]
                p.copy_(gain * noise / fan_in ** 0.5)
        for name, b in sorted(model.named_buffers()):
            if name.endswith(("e_score_correction_bias", "expert_bias")):
                b.copy_(0.2 * torch.randn(b.shape, generator=generator))
            if name.endswith("layer_scalar"):
                b.copy_(1.0 + 0.2 * torch.randn(b.shape, generator=generator))


def published_tensors(model):
    """By the names under which they are published: transformers 5 fuses experts in memory."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        return load_file(pathlib.Path(folder) / "model.safetensors")


def stored_tensors(model, dtype, bare_gpt2=False):
    tied = model.config.tie_word_embeddings
    if hasattr(model.config, "vision_config") or any(p.dim() == 3 for p in model.parameters()):
        return {name: t.to(dtype).contiguous() for name, t in published_tensors(model).items()}
    tensors = {name: p.detach().to(dtype).contiguous() for name, p in model.named_parameters()
               if not (tied and name == "lm_head.weight")}
    tensors.update({name: b.to(dtype) for name, b in model.named_buffers()
                    if name.endswith("layer_scalar")})
    if bare_gpt2:
        tensors = {name.removeprefix("transformer."): t for name, t in tensors.items()}
        n = model.config.n_positions
        tensors["h.0.attn.bias"] = torch.ones(1, 1, n, n).tril()
    return tensors


def in_mxfp4(tensors, seed):
    """gpt-oss's experts as published, in place of its matrices; and what transformers reads there."""
    generator = torch.Generator().manual_seed(seed)
    stored, read = {}, {}
    for name, t in sorted(tensors.items()):
        read[name] = stored[name] = t
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            continue
        n, columns, rows = t.shape
        blocks = torch.randint(256, (n, rows, columns // 32, 16), generator=generator)
        scales = torch.randint(122, 126, (n, rows, columns // 32), generator=generator)
        del stored[name]
        stored[name + "_blocks"], stored[name + "_scales"] = blocks.byte(), scales.byte()
        read[name] = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)
    return stored, read


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


def v4_dialect(config, convert):
    """config.json as transformers 4 wrote it."""
    config = convert(dict(config))
    config["torch_dtype"] = config.pop("dtype")
    config["transformers_version"] = "4.45.0"
    return dict(sorted(config.items()))


def logits_of(model, tokens, positions):
    ids = torch.tensor([tokens])
    with torch.no_grad():
        if positions == list(range(len(tokens))):
            return model(input_ids=ids, use_cache=False).logits[0]
        # An explicit mask: positions that jump would otherwise be read as packed sequences.
        low, at = torch.finfo(torch.float32).min, torch.tensor(positions)
        distance = at[:, None] - at[None, :]
        mask = torch.where(distance < 0, low, 0.0)[None, None]
        text = model.config.get_text_config()
        window = getattr(text, "sliding_window", None)
        if window and "sliding_attention" in (getattr(text, "layer_types", None) or []):
            near = torch.where(distance >= window, low, 0.0)[None, None] + mask
            mask = {"full_attention": mask, "sliding_attention": near.clamp(min=low)}
        return model(input_ids=ids, position_ids=at[None], attention_mask=mask,
                     use_cache=False).logits[0]


def cases_of(options):
    """(name, positions, context) of the expected sets."""
    if options.get("longrope"):
        return [(name, list(range(n_tokens)), context) for name, n_tokens, context in LONGROPE]
    cases = [("prompt", list(range(N_TOKENS)), None)]
    if options.get("jump"):
        half = N_TOKENS // 2
        cases.append(("jump", [i if i < half else i + 300 for i in range(N_TOKENS)], None))
    return cases


def write_expected(folder, reference, cases, seed):
    n_tokens = max(len(positions) for _, positions, _ in cases)
    generator = torch.Generator().manual_seed(seed + 1000)
    tokens = [1] + torch.randint(3, VOCAB, (n_tokens - 1,), generator=generator).tolist()
    listing, blobs, begin = [], [], 0
    for name, positions, context in cases:
        mine = tokens[:len(positions)]
        logits = logits_of(reference, mine, positions).contiguous()
        case = {"name": name, "tokens": mine, "positions": positions, "logits_begin": begin}
        listing.append(case if context is None else dict(case, context=context))
        blobs.append(logits.numpy().astype("<f4").tobytes())
        begin += logits.numel()
    write_json(folder / "expected.json", {"vocab_size": VOCAB, "cases": listing}, indent=None)
    (folder / "expected.bin").write_bytes(b"".join(blobs))


def reference_of(folder, config, tensors, options):
    """Starts from the files, as a user would; MXFP4 is no type of a CPU's there."""
    with tempfile.TemporaryDirectory() as other:
        if options.get("mxfp4"):
            plain = json.loads((folder / "config.json").read_text())
            del plain["quantization_config"]
            folder = pathlib.Path(other)
            write_json(folder / "config.json", plain)
            save_weights(folder, tensors, 1)
        return model_class(config).from_pretrained(folder, dtype=torch.float32,
                                                   attn_implementation="eager").eval()


def make_model(out, name):
    config_class, fields, dtype, options = MODELS[name]
    seed = seed_of(name)
    folder = out / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

    of_config = config_class(**fields)
    model = model_class(of_config).from_config(of_config, dtype=torch.float32)
    randomize(model, seed)
    tensors = stored_tensors(model, dtype, options.get("bare_gpt2", False))
    tensors.update({n: torch.ones(shape, dtype=dtype)
                    for n, shape in options.get("extra", {}).items()})
    if options.get("turned"):
        tensors = {n: t.transpose(1, 2).contiguous() if "experts" in n else t
                   for n, t in tensors.items()}
    stored = tensors
    if options.get("mxfp4"):
        stored, tensors = in_mxfp4(tensors, seed)
    save_weights(folder, stored, options.get("shards", 1))
    model.config.dtype = dtype
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    for field in options.get("drop", ()):
        del config[field]
    if "v4" in options:
        config = v4_dialect(config, options["v4"])
    if options.get("mxfp4"):
        config["quantization_config"] = {"quant_method": "mxfp4"}
    write_json(folder / "config.json", config)
    if "generation" in options:
        write_json(folder / "generation_config.json", options["generation"])

    reference = reference_of(folder, of_config, tensors, options)
    write_expected(folder, reference, cases_of(options), seed)
    if "rope_type" in options:
        config["rope_scaling"]["type"] = options["rope_type"]
        write_json(folder / "config.json", config)


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


def longropes(head_dim):
    """(configuration, sequence length) where the short and the long table begin and end."""
    rows = []
    for others in (dict(), dict(attention_factor=1.3), dict(factor=8.0),
                   dict(partial_rotary_factor=0.75)):
        n = int(head_dim * others.get("partial_rotary_factor", 1.0)) // 2
        rope = dict(rope_type="longrope", rope_theta=10000.0,
                    short_factor=[round(1.0 + 0.4 * i / n, 4) for i in range(n)],
                    long_factor=[round(1.0 + 60.0 * (i / n) ** 2, 4) for i in range(n)],
                    original_max_position_embeddings=4096, **others)
        rows += [(rope, 4096), (rope, 4097)]
    return rows


def make_ropes(out):
    rows = []
    for head_dim in (64, 128):
        for rope, seq_len in [(rope, None) for rope in ROPES] + longropes(head_dim):
            config = LlamaConfig(hidden_size=4 * head_dim, num_attention_heads=4,
                                 max_position_embeddings=131072, rope_parameters=dict(rope))
            if rope["rope_type"] == "default":
                inv_freq, factor = LlamaRotaryEmbedding.compute_default_rope_parameters(config)
            else:
                inv_freq, factor = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, seq_len=seq_len)
            row = {"head_dim": head_dim, "max_position_embeddings": 131072,
                   "rope_parameters": rope, "inv_freq": inv_freq.tolist(),
                   "attention_factor": float(factor)}
            rows.append(row if seq_len is None else dict(row, seq_len=seq_len))
    lines = ",\n".join(json.dumps(row) for row in rows)
    (out / "rope.json").write_text(f"[\n{lines}\n]\n")


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=here / "models")
    parser.add_argument("--only", nargs="+", help="these names alone, and no rope.json")
    args = parser.parse_args()
    out = args.out
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    out.mkdir(parents=True, exist_ok=True)
    for name in args.only or MODELS:
        make_model(out, name)
    if not args.only:
        make_ropes(out)


if __name__ == "__main__":
    main()
