"""What a step costs at least: bench/floor.h's sum, for the programs in Python.

`machine` is what machine_bench prints, `model` what pc_engine_describe says.
"""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEAKS = ("f32_gflops", "bf16_gflops", "int8_gops")


def machine(build=ROOT / "build", threads=0):
    """threads 0: all that the process may use."""
    out = subprocess.run([str(Path(build) / "bench/machine_bench"), *(["--threads", str(threads)] if threads else [])],
                         check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def floor_s(machine, model, n_new, depth):
    """Seconds of n_new tokens after `depth` present ones, memory and arithmetic overlapped."""
    return step_s(machine, model, n_new, 1, depth, n_new * (depth + n_new / 2))


def together_s(machine, model, sessions, n_new, depth):
    """Seconds of one of n_new tokens of each of so many sessions, decoded together behind `depth` tokens
    that they share: the middle step's, over its tokens."""
    own = n_new / 2
    return step_s(machine, model, sessions, sessions, depth + sessions * own, sessions * (depth + own)) / sessions


def step_s(machine, model, n_rows, n_logits, n_states, pairs):
    """Seconds of a step of n_rows tokens, of which n_logits go through the last matrix, which reads
    n_states tokens' states and has so many pairs of a query and a key."""
    head = model["vocab_size"] * model["d_model"]  # its matrix is read once
    rows_alone = 0 if model["tied_embeddings"] else head  # of the embeddings, some rows
    layers = model["parameters"] - rows_alone - head
    read = model["weight_bytes"] * (1 - rows_alone / model["parameters"])
    read += model["kv_bytes_per_token"] * n_states
    wide = max(machine["f32_gflops"], machine["bf16_gflops"])
    quantised = not {"F32", "F16", "BF16"} >= {t.upper() for t in model["weight_types"]}
    peak = max(wide, machine["int8_gops"]) if quantised else wide
    attention = 4 * model["layers"] * model["heads"] * model["head_dim"] * pairs
    states_peak = max(wide, machine["int8_gops"]) if model["kv_type"] == "q8" else wide
    compute = 2 * (layers * n_rows + head * n_logits) / peak + attention / states_peak
    return max(read / machine["read_gb_per_s"], compute) / 1e9
