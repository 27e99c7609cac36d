#!/usr/bin/env python3
"""Turns a checkpoint of make_random_checkpoint.py, or the demo model, into GGUF files.

    python bench/make_gguf.py CHECKPOINT OUT [--types Q8_0 Q4_K_M Q4_0]

Writes OUT/model-TYPE.gguf for the checkpoint's own type and for each of --types. Needs
numpy, sentencepiece and PyPI's gguf; the others are made by llama.cpp's own quantiser
out of PyPI's llama-cpp-python, so that the files are what people download, but for
their values. The checkpoint is of the Llama shape in BF16 or F16 and has a
tokenizer.model.
"""

import argparse
import json
import pathlib
import struct

import gguf
import numpy as np
import sentencepiece


def read_safetensors(path):
    """name, "BF16" or "F16", array of u16 as stored, mapped."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
    data = np.memmap(path, np.uint8, "r", offset=8 + size)
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        kind = entry["dtype"]
        assert kind in ("BF16", "F16"), f"{name} is {kind}; this script turns BF16 and F16"
        begin, end = entry["data_offsets"]
        yield name, kind, data[begin:end].view(np.uint16).reshape(entry["shape"])


PARTS = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
         "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
NAMES = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
         "lm_head.weight": "output.weight"}


def gguf_name(name):
    if name in NAMES:
        return NAMES[name]
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{PARTS[rest.removesuffix('.weight')]}.weight"


def interleave(rows, heads):
    """Rows of queries and keys in GGUF's order: rotated pairs are neighbours."""
    height = rows.shape[0] // heads
    halves = rows.reshape(heads, 2, height // 2, *rows.shape[1:])
    return halves.swapaxes(1, 2).reshape(rows.shape)


def widened(values, kind):
    if kind == "F16":
        return values.view(np.float16).astype(np.float32)
    return (values.astype(np.uint32) << 16).view(np.float32)


def add_tensors(writer, folder, config):
    for name, kind, values in read_safetensors(folder / "model.safetensors"):
        if "q_proj" in name:
            values = interleave(values, config["num_attention_heads"])
        elif "k_proj" in name:
            values = interleave(values, config["num_key_value_heads"])
        if values.ndim == 1:  # norms are f32 in this format
            writer.add_tensor(gguf_name(name), widened(values, kind))
        else:
            writer.add_tensor(gguf_name(name), np.ascontiguousarray(values).view(np.uint8),
                              raw_dtype=gguf.GGMLQuantizationType[kind])


def add_metadata(writer, config):
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config.get("rope_parameters", config)["rope_theta"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])


def add_tokenizer(writer, folder):
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text()) if path.exists() else {}
    kind = gguf.TokenType
    types = [kind.UNKNOWN if model.IsUnknown(i) else kind.CONTROL if model.IsControl(i)
             else kind.BYTE if model.IsByte(i) else kind.NORMAL for i in range(len(model))]
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([model.IdToPiece(i).encode() for i in range(len(model))])
    writer.add_token_scores([model.GetScore(i) for i in range(len(model))])
    writer.add_token_types(types)
    writer.add_bos_token_id(model.bos_id())
    writer.add_eos_token_id(model.piece_to_id(config["eos_token"]) if config else model.eos_id())
    writer.add_unk_token_id(model.unk_id())
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(config.get("add_prefix_space", True))
    if "chat_template" in config:
        writer.add_chat_template(config["chat_template"])


def write_unchanged(folder, config, out):
    writer = gguf.GGUFWriter(out, "llama")
    add_metadata(writer, config)
    add_tokenizer(writer, folder)
    add_tensors(writer, folder, config)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def quantise(source, out, kind):
    import llama_cpp
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}")
    failed = llama_cpp.llama_model_quantize(str(source).encode(), str(out).encode(), params)
    assert failed == 0, f"llama.cpp could not quantise to {kind}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--types", nargs="+", default=["Q8_0", "Q4_K_M", "Q4_0"])
    a = parser.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    config = json.loads((a.checkpoint / "config.json").read_text())
    own = {"bfloat16": "BF16", "float16": "F16"}[config.get("dtype") or config["torch_dtype"]]
    source = a.out / f"model-{own}.gguf"
    write_unchanged(a.checkpoint, config, source)
    for kind in a.types:
        if kind != own:
            quantise(source, a.out / f"model-{kind}.gguf", kind)
    for path in sorted(a.out.glob("model-*.gguf")):
        print(f"{path}: {path.stat().st_size / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
