#!/usr/bin/env python3
"""Makes tests/golden/tokenizers/: small trained tokenizers of each supported kind,
texts, and the ids that the `tokenizers` and `sentencepiece` packages give them.

    pip install tokenizers sentencepiece gguf && python3 make_tokenizer_fixtures.py

Also writes the seeds of the fuzz targets that read tokenizers (tests/fuzz/corpus/).
Everything is seeded; what is written depends on the packages' versions alone
(made with tokenizers 0.23.3, sentencepiece 0.2.3 and gguf 0.19.0). Each folder has
the files that a published model has, and expected.json:
  text    ids of texts.json's texts, special tokens' spellings taken as plain text
  markup  [string, ids] where special tokens are recognised
vocab.gguf is the same tokenizer as the usual converters write it. splits.json has
the words that each pre-tokeniser of tokenizer.ggml.pre cuts texts into:
  texts   more texts, behind those of texts.json
  rules   [{names, words: for each text, the words' lengths in characters}]
"""
import json
import pathlib
import random
import re
import tempfile

import gguf
import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
from tokenizers import pre_tokenizers, processors, trainers

OUT = pathlib.Path(__file__).parent / "tokenizers"
SEEDS = pathlib.Path(__file__).parents[1] / "fuzz" / "corpus"
VOCAB = 700

# The published patterns.
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN35 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
          r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
GPT4O = (TEKKEN.replace(r"\p{M}]+|", r"\p{M}]+" + CONTRACTION + "|")
         .replace(r"\p{M}]*|\p{N}|", r"\p{M}]*" + CONTRACTION + r"|\p{N}{1,3}|"))
CASED = ("A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚ"
         "Ḁ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭ"
         "ℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ"
         "𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃")
# DeepSeek 3's, the last of its three.
SIGNED = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
          r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
EAST_ASIAN = "[一-龥ࠀ-一가-\ud7ff]+"

SPECIALS = {
    "llama3": ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>",
               "<|eot_id|>"],
    "qwen2": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    "smollm2": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    "metaspace": ["<unk>", "<s>", "</s>"],
    "gemma4": ["<pad>", "<eos>", "<bos>", "<unk>", "<|turn>", "<turn|>"],
}
GGUF_PRE = {"llama3": "llama-bpe", "qwen2": "qwen2", "smollm2": "smollm"}

WORDS = """the a of and to in is that it was for on are with as they be at this have from or one
had by word but not what all were we when your can said there use an each which she do how their
if will up other about out many then them these so some her would make like him into time has look
two more write go see number no way could people my than first water been call who oil its now find
long down day did get come made may part tokens attention memory cache module prompt schema city
museum harbour bridge market café naïve Straße Ärger größer señor façade œuvre Привет мир город
музей вода το νερό πόλη 東京 博物館 你好 世界 서울 도시 مرحبا بالعالم שלום""".split()
PIECES = (["'s", "'t", "'re", "'VE", "'Ll", "'D", "'ſ", "’s", "I'm", "don't", "x", "Ab", "éà", "ß", "ñ",
           "Ω", "Ж", "日本", "한글", "ا", "ก", "0", "7", "42", "1234567", "٣", "Ⅷ", "½", "²", ".", ",",
           "!?", "...", "—", "«", "»", "(", ")", "[x]", "{", "$", "€", "+", "<", ">", "|", "_", "`", "~",
           "\\", "/", "▁", "\u00a0", "\u2003", "\u200b", "\u200d", "\ufeff", "\ufffd", "\u0301", "\u0323",
           "e\u0301", "q\u0307\u0323", "\u1100\u1161\u11a8", "\u212b", "\ufb01", "\ufdfa", "😀", "👨‍👩‍👧", "🇩🇪",
           "\t", "\n", "\n\n", "\r\n", "\r", "\v", "\f", "\x00", "\x1f", "\x7f", "\x85", "\u2028"]
          + [" "] * 12 + ["  ", "    "])


def training_lines(rng):
    for _ in range(4000):
        words = rng.choices(WORDS, k=rng.randint(3, 14))
        if rng.random() < 0.4:
            words.insert(rng.randrange(len(words)), str(rng.randint(0, 99999)))
        if rng.random() < 0.3:
            words[0] = words[0].capitalize() + rng.choice(["'s", "'re", ",", ":"])
        yield " ".join(words) + rng.choice([".", "?", "!", "\n", "\n\n", "  ", ""])


def texts(rng):
    fixed = ["", " ", "  ", "   ", "\n", "\n\n", "\t", " \n ", "Hello", " Hello", "  Hello", "Hello world",
             "Hello  world", "Hello ", "Hello   ", "a\nb", "a \n b", "a\n\n\nb", "The market's by the water, isn't it?",
             "1234567890 12 3", "12.5% of 1,000", "don't DON'T Don'T", "東京の博物館。", "Привет, мир!", "naïve café",
             "nai\u0308ve cafe\u0301", "😀😀 👨‍👩‍👧 🇩🇪", "مرحبا بالعالم", "x\u0323\u0307 x\u0307\u0323", "<0x0A>", "▁the ▁ the",
             "<s>", "</s>", "<unk>", "a<s>b</s>", "<|im_start|>user\nHi<|im_end|>", "<|begin_of_text|>",
             "<|eot_id|> x <|endoftext|>", "[INST] Hello [/INST]", "def f(x):\n    return x + 1\n",
             " " * 40 + "x", "\n" * 9, "a" * 40, "!" * 20, "ab" * 30]
    return fixed + ["".join(rng.choices(PIECES + WORDS, k=rng.randint(1, 14))) for _ in range(300)]


RULES = "A0\t20\n9\t20\nA\t20\nFB01\t66 69\n212B\tC5\n65 301\tE9\n200B\t\n"

MARKUP = {
    "llama3": ["<|begin_of_text|>", "<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>",
               "<|start_header_id|>assistant<|end_header_id|>\n\n", "x<|eot_id|>y <|not_one|>"],
    "qwen2": ["<|im_start|>user\n", "<|im_end|>\n", "<|im_end|>\n<|im_start|>assistant\n"],
    "smollm2": ["<|im_start|>system\n", "<|im_end|>\n<|im_start|>user\n"],
    "metaspace": ["<s>[INST]", "</s><s>the city", "</s>\n<s>"],
    "gemma4": ["<bos><|turn>user\n", "the city<turn|>\n<|turn>model\n", "<eos>"],
}


def byte_level_trainer():
    return trainers.BpeTrainer(vocab_size=VOCAB, show_progress=False,
                               initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def split_then_bytes(pattern):
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), behavior="isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def make_byte_level(name, lines):
    tokenizer = Tokenizer(models.BPE(ignore_merges=name == "llama3"))
    if name == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    if name == "smollm2":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False)])
    else:
        tokenizer.pre_tokenizer = split_then_bytes(LLAMA3 if name == "llama3" else QWEN2)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(lines, byte_level_trainer())
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def make_metaspace(lines):
    """What sentencepiece models become when they are published as tokenizer.json today."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    bytes_ = [f"<0x{b:02X}>" for b in range(256)]
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=VOCAB, show_progress=False, special_tokens=SPECIALS["metaspace"] + bytes_,
        limit_alphabet=200))
    document = json.loads(tokenizer.to_str())
    document["added_tokens"] = [t for t in document["added_tokens"] if t["content"] not in bytes_]
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
        decoders.Strip(content=" ", left=1, right=0)])
    return tokenizer


def make_gemma4(lines):
    """Merges over characters, all spaces written as their mark, nothing in front."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", behavior="merged_with_previous")
    bytes_ = [f"<0x{b:02X}>" for b in range(256)]
    # Words as the vocabulary has them: with a mark in front, and none across lines.
    words = [word for line in lines for word in re.findall(r" ?[^\s]+|\n+| +", line)]
    tokenizer.train_from_iterator(words, trainers.BpeTrainer(
        vocab_size=VOCAB, show_progress=False, special_tokens=SPECIALS["gemma4"] + bytes_,
        limit_alphabet=200))
    document = json.loads(tokenizer.to_str())
    document["added_tokens"] = [t for t in document["added_tokens"] if t["content"] not in bytes_]
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


def split(pattern):
    return pre_tokenizers.Split(Regex(pattern), behavior="isolated", invert=False)


def byte_level(**options):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, **options)


def published_splits():
    """names, normalizer, pre_tokenizer: as in the publishers' tokenizer.json."""
    digits = pre_tokenizers.Digits(individual_digits=True)
    plain = byte_level(use_regex=False)
    every = pre_tokenizers.Sequence
    yield ["gpt-2", "phi-2", "exaone4"], None, byte_level()
    yield ["mpt", "olmo"], normalizers.NFC(), byte_level()
    yield ["starcoder", "refact", "smollm"], None, every([digits, byte_level()])
    yield ["falcon"], None, every([
        pre_tokenizers.Punctuation("contiguous"), byte_level(),
        pre_tokenizers.Digits(individual_digits=False), split("[0-9][0-9][0-9]")])
    yield ["llama-bpe", "llama-v3", "llama3", "falcon3", "falcon-h1", "lfm2", "smaug-bpe", "dbrx", "chatglm-bpe",
           "glm4"], None, every([split(LLAMA3), plain])
    yield ["qwen2", "deepseek-r1-qwen"], normalizers.NFC(), every([split(QWEN2), plain])
    yield ["qwen35"], normalizers.NFC(), every([split(QWEN35), plain])
    yield ["tekken"], None, every([split(TEKKEN), plain])
    yield ["gpt-4o"], None, every([split(GPT4O), plain])
    yield ["deepseek-v3", "hunyuan-dense"], None, every([
        split(r"\p{N}{1,3}"), split("[一-龥\u3040-ゟ゠-ヿ]+"), split(SIGNED), plain])
    yield ["deepseek-coder"], None, every([
        split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split(EAST_ASIAN), digits, plain])
    yield ["deepseek-llm"], None, every([
        split("[\r\n]"), split(f"\\s?[{CASED}]+"), split("\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+"),
        split(r"\s+$"), split(EAST_ASIAN), digits, plain])


def split_texts(rng):
    pieces = ["UPPER", "lower", "Title", "camelCase", "XMLHttp", "ǅ", "ʰ", "ª", "I'LL", "we'Ve", "'", "/", "//",
              "\n", "\r\n", " ", "  ", "\t", "\v", "\u3000", "\u2028", "\u0085", "12", "3456", "٣٤", "½", "²", "Ⅷ",
              "東京", "かな", "カナ", "한글", "ก", "๑", "é", "e\u0301", "\u0301", "Ω", "\u2126", "\u212a", "\u1fbe", "Ж",
              "...", "!?", "。", "，", "“", "~", "$", "+", "<|", "|>", "😀", "\u200d", "\ufeff", "_", "`"]
    return ["".join(rng.choices(pieces, k=rng.randint(2, 12))) for _ in range(200)]


def write_splits(all_texts):
    more = split_texts(random.Random(4))
    rules = []
    for names, normalizer, pre_tokenizer in published_splits():
        words = []
        for text in all_texts + more:
            if normalizer:
                text = normalizer.normalize_str(text)
            words.append([len(word) for word, _ in pre_tokenizer.pre_tokenize_str(text)])
        rules.append({"names": names, "words": words})
    dump(OUT / "splits.json", {"texts": more, "rules": rules})


def add_bos(tokenizer, bos):
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single=f"{bos} $A", pair=f"{bos} $A {bos}:1 $B:1",
                                      special_tokens=[(bos, tokenizer.token_to_id(bos))])])


def without_added(tokenizer):
    document = json.loads(tokenizer.to_str())
    document["added_tokens"] = []
    document["post_processor"] = None
    return Tokenizer.from_str(json.dumps(document))


def dump(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


def write_json_tokenizer(name, tokenizer, all_texts):
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in SPECIALS[name]])
    if name == "llama3":
        add_bos(tokenizer, "<|begin_of_text|>")
    config = {"llama3": {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
              "qwen2": {"add_bos_token": False, "bos_token": None, "eos_token": "<|im_end|>",
                        "chat_template": [{"name": "tool_use", "template": "t"},
                                          {"name": "default", "template": "<|im_start|>"}]},
              "smollm2": {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>",
                          "unk_token": "<|endoftext|>"},
              "metaspace": {"add_bos_token": True, "bos_token": "<s>", "unk_token": "<unk>",
                            "eos_token": {"content": "</s>", "lstrip": False}},
              "gemma4": {"add_bos_token": True, "bos_token": "<bos>", "eos_token": "<eos>",
                         "unk_token": "<unk>"}}[name]
    dump(OUT / name / "tokenizer.json", json.loads(tokenizer.to_str()))
    dump(OUT / name / "tokenizer_config.json", config)
    plain = without_added(tokenizer)
    dump(OUT / name / "expected.json", {
        "text": [plain.encode(t, add_special_tokens=False).ids for t in all_texts],
        "markup": [[m, tokenizer.encode(m, add_special_tokens=False).ids] for m in MARKUP[name]]})


def new_gguf(path, model):
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    return writer


def finish_gguf(writer, bos, eos, unk, add_bos):
    for value, add in ((bos, writer.add_bos_token_id), (eos, writer.add_eos_token_id),
                       (unk, writer.add_unk_token_id), (add_bos, writer.add_add_bos_token)):
        if value is not None:
            add(value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def write_byte_level_gguf(name):
    document = json.loads((OUT / name / "tokenizer.json").read_text())
    config = json.loads((OUT / name / "tokenizer_config.json").read_text())
    ids = dict(document["model"]["vocab"])
    types = dict.fromkeys(ids, gguf.TokenType.NORMAL)
    for token in document["added_tokens"]:
        ids[token["content"]] = token["id"]
        types[token["content"]] = gguf.TokenType.CONTROL if token["special"] else gguf.TokenType.USER_DEFINED
    tokens = sorted(ids, key=ids.get)
    assert [ids[t] for t in tokens] == list(range(len(tokens)))
    writer = new_gguf(OUT / name / "vocab.gguf", "gpt2")
    writer.add_tokenizer_pre(GGUF_PRE[name])
    writer.add_token_list(tokens)
    writer.add_token_types([types[t] for t in tokens])
    writer.add_token_merges([" ".join(m) for m in document["model"]["merges"]])
    if "chat_template" in config:
        writer.add_chat_template(config["chat_template"])
    finish_gguf(writer, *(ids.get(config.get(f"{t}_token")) for t in ("bos", "eos", "unk")),
                config.get("add_bos_token"))


def write_marked_gguf(name):
    document = json.loads((OUT / name / "tokenizer.json").read_text())
    ids = document["model"]["vocab"]
    tokens = sorted(ids, key=ids.get)
    special = {t["content"] for t in document["added_tokens"]}
    kinds = {t: gguf.TokenType.BYTE for t in tokens if re.fullmatch("<0x[0-9A-F]{2}>", t)}
    kinds.update({t: gguf.TokenType.CONTROL for t in special}, **{"<unk>": gguf.TokenType.UNKNOWN})
    writer = new_gguf(OUT / name / "vocab.gguf", "gemma4")
    writer.add_token_list(tokens)
    writer.add_token_scores([-1000.0] * len(tokens))
    writer.add_token_types([kinds.get(t, gguf.TokenType.NORMAL) for t in tokens])
    writer.add_token_merges([" ".join(m) for m in document["model"]["merges"]])
    writer.add_add_space_prefix(False)
    finish_gguf(writer, ids["<bos>"], ids["<eos>"], ids["<unk>"], True)


def write_sentencepiece_gguf(name, path=None, n_words=None):
    """Whole, or without byte pieces and with the first few words alone."""
    from sentencepiece import sentencepiece_model_pb2
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString((OUT / name / "tokenizer.model").read_bytes())
    if n_words:
        words = [p for p in model.pieces if p.type != p.BYTE]
        del model.pieces[:]
        model.pieces.extend(words[:n_words])
    normalizer = model.normalizer_spec
    # The converters write the spaces of user-defined pieces as spaces.
    spelled = [p.piece.replace("▁", " ") if p.type == p.USER_DEFINED else p.piece for p in model.pieces]
    writer = new_gguf(path or OUT / name / "vocab.gguf", "llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(spelled)
    writer.add_token_scores([p.score for p in model.pieces])
    writer.add_token_types([p.type for p in model.pieces])
    if not normalizer.add_dummy_prefix:
        writer.add_add_space_prefix(False)
    if normalizer.remove_extra_whitespaces:
        writer.add_remove_extra_whitespaces(True)
    if normalizer.precompiled_charsmap:
        writer.add_precompiled_charsmap(normalizer.precompiled_charsmap)
    finish_gguf(writer, 1, 2, 0, True)


def train_sentencepiece(lines, model_type, vocab_size=VOCAB, **options):
    with tempfile.TemporaryDirectory() as temporary:
        text = pathlib.Path(temporary) / "text"
        text.write_text("\n".join(line.strip() for line in lines))
        rules = pathlib.Path(temporary) / "rules.tsv"
        rules.write_text(RULES)
        # With a table of its own; the library's NFKC has 240 kB.
        if model_type == "unigram" or options.pop("own_rules", False):
            options["normalization_rule_tsv"] = str(rules)
        sentencepiece.SentencePieceTrainer.train(
            input=str(text), model_prefix=temporary + "/m", vocab_size=vocab_size, byte_fallback=True,
            num_threads=1, minloglevel=2,
            model_type=model_type, **options)
        model = (pathlib.Path(temporary) / "m.model").read_bytes()
    # The trainer notes its temporary input's name in the model.
    return model.replace(temporary.encode(), b"/" * len(temporary.encode()))


def write_sentencepiece(name, lines, all_texts, **options):
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    model = train_sentencepiece(lines, **options)
    (folder / "tokenizer.model").write_bytes(model)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    dump(folder / "expected.json", {"text": [processor.encode(t) for t in all_texts], "markup": []})


def write_seeds(lines, all_texts):
    """A few hundred tokens each: a mutation then hits something that matters."""
    for kind in ("bpe", "unigram"):
        options = {"user_defined_symbols": ["<|sep|>"], "self_test_sample_size": 2,
                   "normalization_rule_name": "identity"}
        path = SEEDS / "sentencepiece_fuzz" / f"{kind}.model"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(train_sentencepiece(lines, kind, 400, **options))
    for name in ("llama3", "qwen2", "metaspace"):
        document = json.loads((OUT / name / "tokenizer.json").read_text())
        vocab = sorted(document["model"]["vocab"].items(), key=lambda item: item[1])
        special = {t["content"] for t in document["added_tokens"]}
        kept = {piece: i for piece, i in vocab if len(piece) == 1 or i > 690 or piece in special}
        document["model"]["vocab"] = kept
        document["model"]["merges"] = [m for m in document["model"]["merges"]
                                       if {m[0], m[1], m[0] + m[1]} <= kept.keys()]
        dump(SEEDS / "tokenizer_json_fuzz" / f"{name}.json", document)
        if name in GGUF_PRE:
            tokens = sorted(kept, key=kept.get) + sorted(special - kept.keys())
            writer = new_gguf(SEEDS / "gguf_tokenizer_fuzz" / f"{name}.gguf", "gpt2")
            writer.add_tokenizer_pre(GGUF_PRE[name])
            writer.add_token_list(tokens)
            writer.add_token_types([gguf.TokenType.CONTROL if t in special else gguf.TokenType.NORMAL
                                    for t in tokens])
            writer.add_token_merges([" ".join(m) for m in document["model"]["merges"]])
            finish_gguf(writer, len(tokens) - 1, len(tokens) - 2, None, True)
    for name in ("sentencepiece_bpe", "sentencepiece_defined"):
        write_sentencepiece_gguf(name, SEEDS / "gguf_tokenizer_fuzz" / f"{name}.gguf", 60)
    # Z is the type of a word, \\ of a control token, ] of a user-defined one.
    entries = [f"Z{chr(33 + i)}{w}" for i, w in enumerate(["▁", "t", "h", "e", "th", "the", "▁the", "▁t"])]
    entries += ["\\0<s>", "\\0<|eot_id|>", "]0<|sep|>", "]0  "]
    entries += [f"ZZ{chr(c)}" for c in range(0x21, 0x7F) if chr(c) not in "the"]
    entries += ["ZZĠ", "ZYci", "ZXty", "ZWcity"]
    (SEEDS / "gguf_tokenizer_fuzz" / "lines.txt").write_text("\n".join(entries))
    folder = SEEDS / "tokenize_text_fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(8):
        (folder / f"{i}.txt").write_bytes("".join(all_texts[i::8]).encode())


def main():
    rng = random.Random(20)
    lines = list(training_lines(rng))
    all_texts = texts(rng)
    dump(OUT / "texts.json", all_texts)
    for name in ("llama3", "qwen2", "smollm2"):
        write_json_tokenizer(name, make_byte_level(name, lines), all_texts)
    write_json_tokenizer("metaspace", make_metaspace(lines), all_texts)
    write_json_tokenizer("gemma4", make_gemma4(lines), all_texts)
    write_marked_gguf("gemma4")
    write_sentencepiece("sentencepiece_bpe", lines, all_texts, model_type="bpe",
                        normalization_rule_name="identity", remove_extra_whitespaces=False,
                        split_digits=True, control_symbols=["<|user|>", "<|end|>"])
    write_sentencepiece("sentencepiece_unigram", lines, all_texts, model_type="unigram",
                        user_defined_symbols=["<|sep|>", "<keep>"])
    # As Gemma has it: runs of spaces and tags are words, and no prefix is added.
    write_sentencepiece("sentencepiece_defined", lines, all_texts, model_type="bpe",
                        own_rules=True, add_dummy_prefix=False,
                        user_defined_symbols=["▁▁", "▁▁▁", "\n\n", "<keep>", "<|sep|>"])
    for name in GGUF_PRE:
        write_byte_level_gguf(name)
    for name in ("sentencepiece_bpe", "sentencepiece_defined"):
        write_sentencepiece_gguf(name)
    write_splits(all_texts)
    write_seeds(lines, all_texts)


if __name__ == "__main__":
    main()
