#!/usr/bin/env python3
"""Writes a checkpoint of random weights in Hugging Face layout, to measure speed on.

    python bench/make_random_checkpoint.py OUT --tokenizer path/to/tokenizer.model

The default shape is TinyLlama-1.1B's: 22 layers, d_model 2048, 32 query and 4
key/value heads, FFN 5632, 32,000 words, BF16: 2.2 GB; only the context is twice
as long, so that 2048 cached tokens leave room. Needs numpy only. Weights are
normal with the width that keeps activations near one, so that a run neither
overflows nor collapses; they are written as they are drawn, a few MiB at a
time, and are the same for the same seed and shape.

Without --tokenizer the folder holds weights only: give one whose vocabulary is
--vocab (TinyLlama uses Llama 2's tokenizer.model).
"""

import argparse
import json
import pathlib
import shutil
import struct

import numpy as np

CHUNK = 1 << 21  # elements drawn at a time


def to_bf16(x):
    """Rounds f32 to the nearest bf16, ties to even; finite values only."""
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


CODECS = {"bf16": ("BF16", 2, to_bf16), "f16": ("F16", 2, lambda x: x.astype("<f2")),
          "f32": ("F32", 4, lambda x: x.astype("<f4"))}
TORCH_NAMES = {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}


def tensors(a):
    """(name, shape, standard deviation); a deviation of None is a norm's ones."""
    q, kv = a.heads * a.head_dim, a.kv_heads * a.head_dim
    yield "model.embed_tokens.weight", (a.vocab, a.d_model), 1.0
    for i in range(a.layers):
        p = f"model.layers.{i}."
        yield p + "input_layernorm.weight", (a.d_model,), None
        for name, shape in (("q_proj", (q, a.d_model)), ("k_proj", (kv, a.d_model)),
                            ("v_proj", (kv, a.d_model)), ("o_proj", (a.d_model, q))):
            yield f"{p}self_attn.{name}.weight", shape, shape[1] ** -0.5
        yield p + "post_attention_layernorm.weight", (a.d_model,), None
        for name, shape in (("gate_proj", (a.ffn, a.d_model)), ("up_proj", (a.ffn, a.d_model)),
                            ("down_proj", (a.d_model, a.ffn))):
            yield f"{p}mlp.{name}.weight", shape, shape[1] ** -0.5
    yield "model.norm.weight", (a.d_model,), None
    if not a.tied:
        yield "lm_head.weight", (a.vocab, a.d_model), a.d_model ** -0.5


def draw(random, shape, deviation):
    """The tensor's values in pieces of at most CHUNK."""
    n = int(np.prod(shape))
    for at in range(0, n, CHUNK):
        size = min(CHUNK, n - at)
        if deviation is None:
            yield np.ones(size, np.float32)
        else:
            yield random.standard_normal(size, np.float32) * np.float32(deviation)


def write_weights(path, a):
    dtype, width, encode = CODECS[a.dtype]
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, shape, _ in tensors(a):
        begin, end = end, end + int(np.prod(shape)) * width
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the data begins at a multiple of 8
    random = np.random.Generator(np.random.SFC64(a.seed))
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, shape, deviation in tensors(a):
            for piece in draw(random, shape, deviation):
                file.write(encode(piece).tobytes())
    return end


def config(a):
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
        "hidden_size": a.d_model, "intermediate_size": a.ffn, "num_hidden_layers": a.layers,
        "num_attention_heads": a.heads, "num_key_value_heads": a.kv_heads, "head_dim": a.head_dim,
        "vocab_size": a.vocab, "max_position_embeddings": a.context, "rms_norm_eps": 1e-05,
        "rope_theta": 10000.0, "rope_scaling": None, "tie_word_embeddings": a.tied,
        "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": TORCH_NAMES[a.dtype],
    }


TOKENIZER_CONFIG = {
    "tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False,
    "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "legacy": True,
    "chat_template": "{% for message in messages %}{{'<|' + message['role'] + '|>\n' + "
                     "message['content'] + eos_token + '\n'}}{% endfor %}"
                     "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}",
}


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--tokenizer", type=pathlib.Path, help="a sentencepiece model to copy")
    for name, value in (("layers", 22), ("d-model", 2048), ("heads", 32), ("kv-heads", 4),
                        ("ffn", 5632), ("vocab", 32000), ("context", 4096), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--head-dim", type=int, help="default: d-model / heads")
    parser.add_argument("--dtype", choices=CODECS, default="bf16")
    parser.add_argument("--tied", action="store_true", help="one matrix for embedding and head")
    a = parser.parse_args()
    a.head_dim = a.head_dim or a.d_model // a.heads
    return a


def main():
    a = parse_arguments()
    a.out.mkdir(parents=True, exist_ok=True)
    write_json(a.out / "config.json", config(a))
    if a.tokenizer:
        shutil.copyfile(a.tokenizer, a.out / "tokenizer.model")
        write_json(a.out / "tokenizer_config.json", TOKENIZER_CONFIG)
    n = write_weights(a.out / "model.safetensors", a)
    print(f"{a.out}: {n / 1e9:.2f} GB of weights")


if __name__ == "__main__":
    main()
