#!/usr/bin/env python3
"""Makes tests/golden/tokenizers/spans.json: conversations as spans, markup and text in
turn, with the ids that transformers gives for the whole string, and the folders of the
tokenizers that make_tokenizer_fixtures.py does not have.

    pip install transformers tokenizers sentencepiece protobuf gguf && python3 make_span_fixtures.py

Run it behind make_tokenizer_fixtures.py (made with transformers 5.23.0, tokenizers
0.23.3 and sentencepiece 0.2.3). spans.json is a list of

    {"folder": "sentencepiece_bpe",   of tests/golden/tokenizers
     "file": "tokenizer.model",       the one of its files that is read; vocab.gguf alone, others
     "config": {...},                 beside a tokenizer_config.json that says this
     "conversations": [{
        "spans": [[true, "<s>[INST] "], [false, "Hello"], ...],   markup?, text
        "behind_bos": true,           BOS stands before the spans without being in them
        "ids": [[1, 733], [...]]}]}   of each span

Whether a token is control is a matter of place here and not of spelling, which
transformers cannot say: the reference's control tokens are spelled with characters of
private use, which no text has. A conversation whose texts spell no control token must
have the same ids from the tokenizer as transformers loads it; this script checks it. A
token belongs to the span in which its first character stands, by the offsets that
`tokenizers` gives (white space that a control token swallows is none of its own).
"""
import json
import pathlib
import random
import shutil
import sys
import tempfile

import gguf
from tokenizers import AddedToken, Tokenizer, processors
from transformers import AutoTokenizer

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import make_tokenizer_fixtures as base  # noqa: E402

OUT = base.OUT
LLAMA = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>",
         "unk_token": "<unk>", "add_bos_token": True,
         "added_tokens_decoder": {str(i): {"content": t, "special": True} for i, t in enumerate(
             ["<unk>", "<s>", "</s>", "<|user|>", "<|end|>"])}}
FAST = {"tokenizer_class": "PreTrainedTokenizerFast"}
GEMMA = {"tokenizer_class": "GemmaTokenizer", "bos_token": "<bos>", "eos_token": "<eos>",
         "unk_token": "<unk>", "pad_token": "<pad>", "add_bos_token": True,
         "added_tokens_decoder": {str(i): {"content": t, "special": True} for i, t in [
             (0, "<pad>"), (1, "<eos>"), (2, "<bos>"), (3, "<unk>"), (4, "<start_of_turn>"),
             (5, "<end_of_turn>")]}}

# What stands around a user's and a model's text.
LLAMA2 = ("<s>", "[INST] ", " [/INST]", " ", " </s><s>")
BARS = ("<s>", "<|user|>\n", "<|end|>\n", "", "</s>\n")
CHATML = ("", "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n", "", "<|im_end|>\n")
LLAMA3 = ("<|begin_of_text|>", "<|start_header_id|>user<|end_header_id|>\n\n",
          "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n", "", "<|eot_id|>")
TURNS = ("<bos>", "<start_of_turn>user\n", "<end_of_turn>\n<start_of_turn>model\n", "",
         "<end_of_turn>\n")
STRIPS = ("", "<|user|>\n", " <|end|>\n", "<think>\n", "<|end|> \n")

TEXTS = ["", " ", "  ", "\n", "\n\n", "Hello", " Hello", "  indented", "trailing ", "trailing  \n", "\n\nbelow",
         " \n ", "the city", "of the museum's harbour.", "don't", "12345 678", "a  b", "\tx\t", "naïve café",
         "nai\u0308ve cafe\u0301", "\u0301mark first", "q\u0307\u0323", "e\u0323\u0301", "\u1100\u1161\u11a8", "\u212b",
         "東京の博物館。", "서울", "Привет, мир!", "😀", "👨‍👩‍👧 🇩🇪", "مرحبا", "\u00a0x\u00a0", "\u2003", "▁x ▁", "x▁",
         "<s>", "</s>", "a<s>b</s>", "<|im_end|>", "<|im_start|>system\n", "<|eot_id|>", "<start_of_turn>", "<|user|>",
         "[INST]", " [/INST]", "schön", "grüße ø", "<think>", "x</think>\n", "<tool_call>{}</tool_call>", "<|"]


def dump(path, value):
    base.dump(path, value)


def make_prepend():
    """What Llama's vocabulary became in tokenizer.json first: a prefix behind every added token."""
    document = json.loads((OUT / "metaspace" / "tokenizer.json").read_text())
    document["normalizer"] = {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "▁"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}
    document["pre_tokenizer"] = None
    dump(OUT / "prepend" / "tokenizer.json", document)


def make_gemma(lines):
    folder = OUT / "gemma"
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer.model").write_bytes(base.train_sentencepiece(
        lines, "bpe", normalization_rule_name="identity", remove_extra_whitespaces=False,
        add_dummy_prefix=False, split_digits=True, pad_id=0, eos_id=1, bos_id=2, unk_id=3,
        pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>", unk_piece="<unk>",
        control_symbols=["<start_of_turn>", "<end_of_turn>"],
        user_defined_symbols=["\n\n", "\n\n\n", "▁▁", "▁▁▁", "<table>"]))


def make_added():
    """Added tokens that are text, as DeepSeek's letters and Qwen's tags."""
    tokenizer = Tokenizer.from_file(str(OUT / "smollm2" / "tokenizer.json"))
    tokenizer.add_tokens([AddedToken(t, special=False, normalized=True) for t in ("ö", "ü", "ø")])
    tokenizer.add_tokens([AddedToken(t, special=False, normalized=False)
                          for t in ("<think>", "</think>", "<tool_call>", "</tool_call>", "  ")])
    dump(OUT / "added" / "tokenizer.json", json.loads(tokenizer.to_str()))
    dump(OUT / "added" / "tokenizer_config.json", FAST)
    base.GGUF_PRE["added"] = "smollm"
    base.write_byte_level_gguf("added")
    # Two more that take the white space beside them.
    tokenizer.add_special_tokens([AddedToken("<|user|>", rstrip=True), AddedToken("<|end|>", lstrip=True)])
    dump(OUT / "strips" / "tokenizer.json", json.loads(tokenizer.to_str()))


def make_phi3(folder):
    """A GGUF file of Phi-3's kind, and in `folder` the tokenizer.json that its publisher would have."""
    def new_gguf(path, model):
        path.parent.mkdir(exist_ok=True)
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_name("Phi 3.5 Mini Instruct")
        writer.add_tokenizer_model(model)
        return writer
    base.new_gguf = new_gguf
    base.write_sentencepiece_gguf("sentencepiece_bpe", OUT / "phi3" / "vocab.gguf")
    shutil.copy(OUT / "sentencepiece_bpe" / "tokenizer.model", folder)
    dump(folder / "tokenizer_config.json", LLAMA)
    document = json.loads(AutoTokenizer.from_pretrained(folder).backend_tokenizer.to_str())
    for token in document["added_tokens"]:
        token["rstrip"] = token["content"] not in ("<unk>", "<s>", "<|endoftext|>")
    document["normalizer"] = {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "▁"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}
    document["pre_tokenizer"] = None
    (folder / "tokenizer.model").unlink()
    dump(folder / "tokenizer.json", document)
    dump(folder / "tokenizer_config.json", FAST)


def private(spelling):
    """The spelling of a control token in the reference."""
    return "\ue000" + "".join(chr(0xe100 + ord(c)) if ord(c) < 256 else c for c in spelling) + "\ue001"


def reference(tokenizer):
    """The tokenizer with its control tokens spelled in private; and their spellings."""
    document = json.loads(tokenizer.backend_tokenizer.to_str())
    controls = [t["content"] for t in document["added_tokens"] if t["special"]]
    for token in document["added_tokens"]:
        if token["special"]:
            token["content"] = private(token["content"])
    vocab = document["model"]["vocab"]
    document["model"]["vocab"] = {private(p) if p in controls else p: i for p, i in vocab.items()}
    unk = document["model"]["unk_token"]
    document["model"]["unk_token"] = private(unk) if unk in controls else unk
    document["post_processor"] = None
    return Tokenizer.from_str(json.dumps(document)), sorted(controls, key=len, reverse=True)


def in_private(markup, controls):
    for control in controls:
        markup = markup.replace(control, private(control))
    return markup


def ids_of_spans(tokenizer, controls, spans):
    joint, ends = "", []
    for is_markup, text in spans:
        joint += in_private(text, controls) if is_markup else text
        ends.append(len(joint))
    encoding = tokenizer.encode(joint, add_special_tokens=False)
    ids = [[] for _ in spans]
    for token, (begin, end) in zip(encoding.ids, encoding.offsets):
        begin = max(begin, joint.find("\ue000", begin, end))  # behind the white space it swallows
        ids[next(i for i, end in enumerate(ends) if begin < end)].append(token)
    return ids


def cut(rng, text):
    """A text as one to three spans, as parameters and modules cut it."""
    places = sorted(rng.choices(range(len(text) + 1), k=rng.choice([0, 0, 1, 2])))
    return [text[a:b] for a, b in zip([0] + places, places + [len(text)])]


def conversation(rng, form, behind_bos):
    bos, *around = form
    spans = [] if behind_bos else [[True, bos]]
    for turn in range(rng.choice([1, 1, 2, 3])):
        before, after = around[2 * (turn % 2)], around[2 * (turn % 2) + 1]
        text = "".join(rng.choices(TEXTS, k=rng.choice([1, 1, 2])))
        spans += [[True, before]] + [[False, part] for part in cut(rng, text)] + [[True, after]]
    return spans


def conversations(seed, loaded, forms, has_bos):
    rng = random.Random(seed)
    private_tokenizer, controls = reference(loaded)
    out = []
    for i in range(60):
        form = forms[i % len(forms)]
        behind_bos = has_bos and i % 3 == 0
        if i % 10 == 9:  # a text alone, as completions have it
            spans, behind_bos = [[False, t] for t in cut(rng, rng.choice(TEXTS) + rng.choice(TEXTS))], False
        else:
            spans = conversation(rng, form, behind_bos)
        whole = ([[True, form[0]]] if behind_bos else []) + spans
        ids = ids_of_spans(private_tokenizer, controls, whole)
        joint = "".join(text for _, text in whole)
        texts = "".join(text if not is_markup else "\ue000" for is_markup, text in whole)
        if not any(c in texts for c in controls):
            assert sum(ids, []) == loaded.encode(joint, add_special_tokens=False), joint
        if behind_bos:
            assert len(ids[0]) == 1
            ids = ids[1:]
        out.append({"spans": spans, "behind_bos": behind_bos, "ids": ids})
    return out


def entry(seed, folder, file, config, forms, has_bos=True, publishers=None):
    with tempfile.TemporaryDirectory() as temporary:
        shutil.copy(OUT / folder / file, temporary)
        dump(pathlib.Path(temporary) / "tokenizer_config.json", config)
        loaded = AutoTokenizer.from_pretrained(publishers or temporary)
    print(folder, type(loaded).__name__, loaded.backend_tokenizer.pre_tokenizer)
    return {"folder": folder, "file": file, "config": config,
            "conversations": conversations(seed, loaded, forms, has_bos)}


def main():
    lines = list(base.training_lines(random.Random(20)))
    make_prepend()
    make_gemma(lines)
    make_added()
    model, fast = "tokenizer.model", "tokenizer.json"
    bos = {**FAST, "bos_token": "<s>", "add_bos_token": True}
    entries = [
        entry(1, "sentencepiece_bpe", model, {**LLAMA, "legacy": True}, [LLAMA2, BARS]),
        entry(2, "sentencepiece_bpe", model, {**LLAMA, "legacy": False}, [LLAMA2, BARS]),
        entry(3, "metaspace", fast, bos, [LLAMA2]),
        entry(4, "prepend", fast, bos, [LLAMA2]),
        entry(5, "prepend", fast, {**LLAMA, "legacy": True, "added_tokens_decoder": {}}, [LLAMA2]),
        entry(6, "prepend", fast, {**LLAMA, "legacy": False, "added_tokens_decoder": {}}, [LLAMA2]),
        entry(7, "gemma", model, GEMMA, [TURNS]),
        entry(8, "llama3", fast, {**FAST, "bos_token": "<|begin_of_text|>"}, [LLAMA3]),
        entry(9, "qwen2", fast, FAST, [CHATML], has_bos=False),
        entry(10, "smollm2", fast, FAST, [CHATML], has_bos=False),
        entry(11, "added", fast, FAST, [CHATML], has_bos=False),
        entry(12, "strips", fast, FAST, [STRIPS], has_bos=False),
        entry(14, "sentencepiece_bpe", model, {**LLAMA, "legacy": True, "add_prefix_space": False}, [BARS]),
        entry(15, "prepend", fast, {**LLAMA, "add_prefix_space": False, "added_tokens_decoder": {}}, [LLAMA2]),
    ]
    with tempfile.TemporaryDirectory() as folder:
        make_phi3(pathlib.Path(folder))
        entries.append(entry(13, "phi3", "vocab.gguf", {}, [BARS], publishers=folder))
    lines = ",\n".join(json.dumps(e, ensure_ascii=False, separators=(",", ":")) for e in entries)
    (OUT / "spans.json").write_text("[\n" + lines + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
