"""bench/library_answers.py goes on with answers of its own model and number of pieces alone."""

import argparse
import importlib.util
import json
from pathlib import Path


def test_answers_of_other_models_and_sizes_are_left_alone(root, tmp_path):
    spec = importlib.util.spec_from_file_location("library_answers", root / "bench/library_answers.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    wanted = bench.kind(argparse.Namespace(model=Path("/models/a.gguf"), k=4))
    kinds = [wanted, {**wanted, "k": 2}, {**wanted, "model": "b.gguf"}, {}]
    path = tmp_path / "squad.jsonl"
    assert bench.kept_of(path, wanted) == []
    path.write_text("".join(json.dumps({**kind, "key": i}) + "\n" for i, kind in enumerate(kinds)))
    assert [line["key"] for line in bench.kept_of(path, wanted)] == [0]
