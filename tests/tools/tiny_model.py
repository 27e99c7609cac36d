#!/usr/bin/env python3
"""Writes a seeded random model of the Llama shape as a Hugging Face folder.

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
             for i, text in ((BOS, "<s>"), (EOS, "</s>"), (UNK, "<unk>"))]
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


if __name__ == "__main__":
    main(*sys.argv[1:])
