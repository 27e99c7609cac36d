#!/usr/bin/env python3
"""A tiny seeded checkpoint shaped as Qwen3-Embedding's, and the vectors that transformers makes with it.

    python tests/golden/make_embedding_fixtures.py [--out tests/golden/embedding]

Needs torch 2.15 and transformers 5.23. The folder <out>/qwen3/ is one of sentence-transformers:

  config.json, model.safetensors   a Qwen3Model, whose tensors have no "model." in front
  tokenizer.json, tokenizer_config.json   bytes as tokens; "<|endoftext|>" stands behind a text
  modules.json, 1_Pooling/config.json     the last token's state, normalised
  expected.json   {"texts": [{"text", "tokens", "last", "mean"}]}: the text's tokens as transformers
                  has them, and the vector of each pooling, in f32
"""

import argparse
import json
import pathlib

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import AutoModel, AutoTokenizer, Qwen3Config, Qwen3Model

END = "<|endoftext|>"
INSTRUCTION = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
TEXTS = [
    INSTRUCTION + "What is the capital of China?",
    INSTRUCTION + "Explain gravity",
    "The capital of China is Beijing.",
    "Gravity is a force that attracts two bodies towards each other. It gives weight to physical objects.",
    "a",
    "Größe, 東京, \U0001f409",
    "x" * 300,
]


def write_json(path, value):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n")


def write_tokenizer(folder):
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: i for i, piece in enumerate(alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([END])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", special_tokens=[(END, tokenizer.token_to_id(END))])
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "tokenizer_config.json",
               {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "pad_token": END})
    return tokenizer.get_vocab_size()


def write_model(folder, vocab_size):
    config = Qwen3Config(vocab_size=vocab_size, hidden_size=32, intermediate_size=16, head_dim=16,
                         num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                         max_position_embeddings=512, tie_word_embeddings=True, bos_token_id=None,
                         eos_token_id=vocab_size - 1, pad_token_id=None)
    model = Qwen3Model(config).float()
    generator = torch.Generator().manual_seed(36)
    with torch.no_grad():
        for _, p in sorted(model.named_parameters()):
            noise = torch.randn(p.shape, generator=generator)
            p.copy_(1 + 0.2 * noise if p.dim() == 1 else 1.5 * noise / p.shape[1] ** 0.5)
    save_file({name: p.detach().contiguous() for name, p in model.named_parameters()},
              folder / "model.safetensors", metadata={"format": "pt"})
    stored = config.to_dict()
    stored["architectures"] = ["Qwen3ForCausalLM"]
    write_json(folder / "config.json", dict(sorted(stored.items())))


def write_pooling(folder):
    write_json(folder / "modules.json", [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])
    write_json(folder / "1_Pooling" / "config.json", {
        "word_embedding_dimension": 32, "pooling_mode_cls_token": False,
        "pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False, "pooling_mode_weightedmean_tokens": False,
        "pooling_mode_lasttoken": True, "include_prompt": True})


def vectors(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    for text in TEXTS:
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            states = model(input_ids=ids, use_cache=False).last_hidden_state[0]
        unit = lambda v: torch.nn.functional.normalize(v, dim=0).tolist()
        yield {"text": text, "tokens": ids[0].tolist(), "last": unit(states[-1]),
               "mean": unit(states.mean(dim=0))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default="tests/golden/embedding")
    folder = parser.parse_args().out / "qwen3"
    folder.mkdir(parents=True, exist_ok=True)
    write_model(folder, write_tokenizer(folder))
    write_pooling(folder)
    write_json(folder / "expected.json", {"texts": list(vectors(folder))})


if __name__ == "__main__":
    main()
