#!/usr/bin/env python3
"""Writes a seeded random model of the Llama shape as a Hugging Face folder, and
one of its shape as a GGUF file with quantised matrices, DIR/tiny_q8_0.gguf.

    tiny_model.py DIR

It has a byte-level tokenizer without merges, one token a byte, so that tests
can count tokens by hand. Its answers mean nothing. Standard library only.
"""
import json
import pathlib
import random
import struct
import sys

SHAPE = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 16}
CONTEXT = 4096
BOS, EOS, UNK = 256, 257, 258
VOCAB = 272
CONTROLS = {}  # more of them: spelling to id

# ChatML, spelled with text alone: its markers are ordinary bytes here.
CHAT_TEMPLATE = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
                 "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
                 "{% endif %}")


def byte_alphabet():
    """GPT-2's printable stand-ins for the 256 bytes."""
    kept = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    stand_in = iter(range(0x100, 0x200))
    return {b: chr(b if b in kept else next(stand_in)) for b in range(256)}


def tokenizer():
    added = [{"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True}
             for i, text in ((BOS, "<s>"), (EOS, "</s>"), (UNK, "<unk>"), *((i, s) for s, i in CONTROLS.items()))]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  "vocab": {c: b for b, c in byte_alphabet().items()}, "merges": []},
    }


def tensor_shapes():
    d, ffn, head = SHAPE["hidden_size"], SHAPE["intermediate_size"], SHAPE["head_dim"]
    q, kv = SHAPE["num_attention_heads"] * head, SHAPE["num_key_value_heads"] * head
    shapes = {"model.embed_tokens.weight": (VOCAB, d), "model.norm.weight": (d,), "lm_head.weight": (VOCAB, d)}
    for layer in range(SHAPE["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        shapes |= {at + "input_layernorm.weight": (d,), at + "post_attention_layernorm.weight": (d,),
                   at + "self_attn.q_proj.weight": (q, d), at + "self_attn.k_proj.weight": (kv, d),
                   at + "self_attn.v_proj.weight": (kv, d), at + "self_attn.o_proj.weight": (d, q),
                   at + "mlp.gate_proj.weight": (ffn, d), at + "mlp.up_proj.weight": (ffn, d),
                   at + "mlp.down_proj.weight": (d, ffn)}
    return shapes


def safetensors():
    rng = random.Random(7)
    header, data = {}, bytearray()
    for name, shape in sorted(tensor_shapes().items()):
        count = 1
        for n in shape:
            count *= n
        values = [1.0] * count if len(shape) == 1 else [rng.uniform(-0.2, 0.2) for _ in range(count)]
        begin = len(data)
        data += struct.pack(f"<{count}f", *values)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(data)


def gguf_value(value):
    """A value of GGUF's metadata: its type, then its bytes."""
    def text(s):
        return struct.pack("<Q", len(s.encode())) + s.encode()
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if value and isinstance(value[0], int):
        return struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)
    return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(text(s) for s in value)


def gguf_name(name):
    """The GGUF name of a Hugging Face tensor."""
    parts = {"embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "model.layers": "blk",
             "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
             "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
             "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
    for theirs, ours in parts.items():
        name = name.replace(theirs, ours)
    return name.removeprefix("model.")


def gguf():
    rng = random.Random(7)
    words = tokenizer()
    tokens = sorted(words["model"]["vocab"], key=words["model"]["vocab"].get)
    tokens += [t["content"] for t in words["added_tokens"]]
    types = [1] * 256 + [3] * 3  # plain, control
    tokens += [f"<unused{i}>" for i in range(VOCAB - len(tokens))]
    types += [5] * (VOCAB - len(types))
    metadata = {
        "general.architecture": "llama", "llama.block_count": SHAPE["num_hidden_layers"],
        "llama.context_length": CONTEXT, "llama.embedding_length": SHAPE["hidden_size"],
        "llama.feed_forward_length": SHAPE["intermediate_size"],
        "llama.attention.head_count": SHAPE["num_attention_heads"],
        "llama.attention.head_count_kv": SHAPE["num_key_value_heads"],
        "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.freq_base": 10000.0, "llama.vocab_size": VOCAB,
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": types, "tokenizer.ggml.merges": [], "tokenizer.ggml.bos_token_id": BOS,
        "tokenizer.ggml.eos_token_id": EOS, "tokenizer.ggml.unknown_token_id": UNK,
        "tokenizer.chat_template": CHAT_TEMPLATE}
    table, data = b"", bytearray()
    shapes = tensor_shapes()
    for name, shape in shapes.items():
        table += gguf_value(gguf_name(name))[4:] + struct.pack("<I", len(shape))
        table += struct.pack(f"<{len(shape)}Q", *reversed(shape))
        if len(shape) == 1:
            table += struct.pack("<IQ", 0, len(data))  # F32
            data += struct.pack(f"<{shape[0]}f", *[1.0] * shape[0])
        else:
            table += struct.pack("<IQ", 8, len(data))  # Q8_0: a scale and 32 numbers
            for _ in range(shape[0] * shape[1] // 32):
                data += struct.pack("<e32b", 0.2 / 127, *(rng.randint(-127, 127) for _ in range(32)))
        data += b"\0" * (-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(metadata))
    for key, value in metadata.items():
        head += gguf_value(key)[4:] + gguf_value(value)
    head += table
    return head + b"\0" * (-len(head) % 32) + bytes(data)


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", **SHAPE, "vocab_size": VOCAB,
              "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
              "hidden_act": "silu", "tie_word_embeddings": False, "attention_bias": False,
              "bos_token_id": BOS, "eos_token_id": EOS, "torch_dtype": "float32"}
    words = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>",
             "unk_token": "<unk>", "add_bos_token": True, "chat_template": CHAT_TEMPLATE}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))
    (folder / "tokenizer_config.json").write_text(json.dumps(words))
    (folder / "model.safetensors").write_bytes(safetensors())
    (folder / "tiny_q8_0.gguf").write_bytes(gguf())


if __name__ == "__main__":
    main(*sys.argv[1:])
