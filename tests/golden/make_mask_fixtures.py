#!/usr/bin/env python3
"""Plans, and the logits that transformers computes for them with a block mask.

    python tests/golden/make_mask_fixtures.py [--models DIR] [--out DIR] [--only NAME...]

Needs torch 2.15, transformers 5.23 and the checkpoints of
make_model_fixtures.py. Deterministic. For each plan and each model it writes
<out>/<plan>.<model>.json and .bin.

The JSON, at the level of tokens and positions:

  {"model":  "llama",               a folder of tests/golden/models
   "context": 64,                   LongRoPE only: the context window to open with
   "vocab_size": 64,
   "jobs":   [{"name": "a",         one causal pass: a token sees the tokens of
               "runs": [             its pass at smaller positions, and itself
                 {"tokens": [...],
                  "position": 4,     of tokens[0] in the pass
                  "keep": true}]}],  kept runs are what a module file holds
   "prompt": [                       in order of position
     {"position": 0, "job": 0, "run": 1},     a kept run: jobs[0].runs[1], placed
                                              with its first token at `position`
     {"position": 9, "tokens": [...]}]}       fresh tokens

A fresh token sees every row of the prompt, cached or fresh, at a logical
position not larger than its own, and no row that was not placed. Where the
model has a sliding window, that narrows what a row sees further, in jobs as in
the prompt. The rows of a job are computed in their own pass only, and are not
changed by the prompt.

The .bin: little-endian f32 [n_fresh][vocab_size], the logits of every fresh
token in the order of the prompt.

How the reference gets there: ONE dense forward (f32, eager attention) over
the rows of all passes, one after the other, context copies included, and then
the fresh rows; a 4-D additive mask says who sees whom. Rotations are relative,
so a whole pass is shifted until its kept rows lie at their places in the
prompt; a job whose runs would need different shifts cannot be said this way
and is refused by an assertion. MPT builds its bias from row numbers: it is given
one built from positions. Layers that carry states: see recurrent_rows.py. GPT-2's positions are learned, so that nothing shifts:
it has only the plans that place every pass where it was computed.
"""

import argparse
import json
import pathlib
import random
from contextlib import nullcontext

import torch
from transformers import AutoConfig
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from transformers.utils import logging

import recurrent_rows
from make_model_fixtures import model_class

MODELS = ["llama", "codellama", "mistral", "mistral_window8", "qwen2", "qwen3", "falcon_7b",
          "falcon_40b", "mpt_6heads", "gpt2", "smollm3", "gemma2", "gemma3", "gemma3_listed",
          "phi3", "phi4mini_v4", "olmo2", "granite", "qwen3_moe", "qwen3_moe_mixed", "qwen2_moe",
          "olmoe", "mixtral", "granitemoe", "granitemoeshared",
          "olmo3", "exaone4_window", "glm4", "glm4_moe", "glm4_moe_groups", "ernie4_5",
          "ernie4_5_moe", "qwen2_vl_v4", "qwen2_5_vl", "qwen3_vl", "gemma3_media",
          "ministral3", "mistral3", "hunyuan", "deepseek2", "deepseek3", "glm4_moe_lite", "minicpm3",
          "gemma4", "gemma4_keys_v4", "gemma4_moe",
          "gemma4_media", "lfm2", "qwen3_next", "qwen3_5", "qwen3_5_moe", "granite_hybrid", "lfm2_moe",
          "falcon_h1", "nemotron_h", "nemotron_h_moe"]


def run(tokens, position, keep=True):
    return {"tokens": tokens, "position": position, "keep": keep}


def cached(position, job, run_index):
    return {"position": position, "job": job, "run": run_index}


def fresh(position, tokens):
    return {"position": position, "tokens": tokens}


class Words:
    """Seeded token sequences; 0 stands for <unk>, 1 for BOS, 2 for the end."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def __call__(self, n, bos=False):
        return [1] * bos + [self.random.randrange(3, 64) for _ in range(n - bos)]


def several_modules(w):
    system, a, b, c = w(6, bos=True), w(9), w(17), w(5)
    # Each module is encoded right after the system text, wherever it will stand.
    jobs = [{"name": "", "runs": [run(system, 0)]}]
    jobs += [{"name": name, "runs": [run(system, 0, False), run(text, 6)]}
             for name, text in (("a", a), ("b", b), ("c", c))]
    return {"jobs": jobs, "prompt": [cached(0, 0, 0), cached(6, 1, 1), cached(15, 2, 1),
                                     cached(32, 3, 1), fresh(37, w(7))]}


def nested(w):
    system, before, after, paris = w(4, bos=True), w(8), w(6), w(11)
    # The parent's own text surrounds the child's place; the child saw what stands before it.
    jobs = [{"name": "", "runs": [run(system, 0)]},
            {"name": "europe", "runs": [run(system, 0, False), run(before, 4), run(after, 23)]},
            {"name": "europe/paris",
             "runs": [run(system, 0, False), run(before, 4, False), run(paris, 12)]}]
    return {"jobs": jobs, "prompt": [cached(0, 0, 0), cached(4, 1, 1), cached(12, 2, 2),
                                     cached(23, 1, 2), fresh(29, w(6))]}


def union(w):
    system, miami, tokyo, hotels = w(5, bos=True), w(14), w(8), w(6)
    # Members share the start 5; only tokyo is imported, the union's length (14) stays reserved.
    jobs = [{"name": "", "runs": [run(system, 0)]},
            {"name": "miami", "runs": [run(system, 0, False), run(miami, 5)]},
            {"name": "tokyo", "runs": [run(system, 0, False), run(tokyo, 5)]},
            {"name": "hotels", "runs": [run(system, 0, False), run(hotels, 19)]}]
    return {"jobs": jobs, "prompt": [cached(0, 0, 0), cached(5, 2, 1), cached(19, 3, 1),
                                     fresh(25, w(8))]}


def parameter(w):
    system, before, after = w(5, bos=True), w(7), w(10)
    # A slot of 6 tokens was encoded as <unk>; an argument of 4 leaves a gap of 2.
    jobs = [{"name": "", "runs": [run(system, 0)]},
            {"name": "trip", "runs": [run(system, 0, False), run(before, 5),
                                      run([0] * 6, 12, False), run(after, 18)]}]
    return {"jobs": jobs, "prompt": [cached(0, 0, 0), cached(5, 1, 1), fresh(12, w(4)),
                                     cached(18, 1, 3), fresh(28, w(6))]}


def gap(w):
    system, a, c = w(4, bos=True), w(6), w(9)
    # Schema layout: the module between a and c is not imported, and its place stays
    # empty but for a little text at the gap's start.
    jobs = [{"name": "", "runs": [run(system, 0)]},
            {"name": "a", "runs": [run(system, 0, False), run(a, 4)]},
            {"name": "c", "runs": [run(system, 0, False), run(c, 210)]}]
    return {"jobs": jobs, "prompt": [cached(0, 0, 0), cached(4, 1, 1), fresh(10, w(3)),
                                     cached(210, 2, 1), fresh(300, w(5))]}


def scaffold(w):
    system, a, b = w(5, bos=True), w(12), w(10)
    # Both modules and the system text in one pass: the same as a full prefill.
    jobs = [{"name": "scaffold s", "runs": [run(system, 0), run(a, 5), run(b, 17)]}]
    return {"jobs": jobs, "prompt": [cached(0, 0, 0), cached(5, 0, 1), cached(17, 0, 2),
                                     fresh(27, w(7))]}


def text_between(w):
    system, a, b = w(4, bos=True), w(16), w(9)
    # Text before, between and after; what stands before a module does not see it.
    jobs = [{"name": "", "runs": [run(system, 0)]},
            {"name": "a", "runs": [run(system, 0, False), run(a, 4)]},
            {"name": "b", "runs": [run(system, 0, False), run(b, 4)]}]
    return {"jobs": jobs, "prompt": [cached(0, 0, 0), fresh(4, w(3)), cached(7, 1, 1),
                                     fresh(23, w(4)), cached(27, 2, 1), fresh(36, w(5))]}


def attend_self(w):
    a, b = w(8), w(13)
    # Modules that saw only themselves, and a prompt that begins with its own text.
    jobs = [{"name": "a", "runs": [run(a, 0)]}, {"name": "b", "runs": [run(b, 0)]}]
    return {"jobs": jobs, "prompt": [fresh(0, w(5, bos=True)), cached(5, 0, 0), cached(13, 1, 0),
                                     fresh(26, w(6))]}


def attend_schema(w):
    system, a, b, c = w(4, bos=True), w(7), w(9), w(6)
    # One pass over the whole schema: b and c saw a, which the prompt leaves out.
    rows = [(system, 0), (a, 4), (b, 11), (c, 20)]
    jobs = [{"name": name, "runs": [run(t, p, i == kept) for i, (t, p) in enumerate(rows[:kept + 1])]}
            for kept, name in ((0, ""), (2, "b"), (3, "c"))]
    return {"jobs": jobs, "prompt": [cached(0, 0, 0), cached(11, 1, 2), cached(20, 2, 3),
                                     fresh(26, w(6))]}


PLANS = [several_modules, nested, union, parameter, gap, scaffold, text_between, attend_self,
         attend_schema]


class Rows:
    """The rows of the one dense forward: a token, a position, and who sees whom."""

    def __init__(self):
        self.tokens, self.positions, self.sees = [], [], []

    def add(self, token, position, visible):
        """`visible`: earlier rows; those at larger positions are left out."""
        index = len(self.tokens)
        self.tokens.append(token)
        self.positions.append(position)
        self.sees.append([j for j in visible if self.positions[j] <= position] + [index])
        return index


def shift_of(plan, job):
    """Prompt position less pass position, the same for all placed runs of the job."""
    shifts = {p["position"] - plan["jobs"][job]["runs"][p["run"]]["position"]
              for p in plan["prompt"] if p.get("job") == job}
    assert len(shifts) <= 1, "runs of one job with different shifts"
    return shifts.pop() if shifts else 0


def lay_rows(plan):
    """All rows, and the indices of the fresh ones in the order of the prompt."""
    rows, placed = Rows(), {}
    for j, job in enumerate(plan["jobs"]):
        mine, shift = [], shift_of(plan, j)
        for r, one in enumerate(job["runs"]):
            begin = len(rows.tokens)
            for i, token in enumerate(one["tokens"]):
                mine.append(rows.add(token, one["position"] + shift + i, mine))
            placed[j, r] = list(range(begin, len(rows.tokens)))
    visible = []
    for p in plan["prompt"]:
        if "job" in p:
            assert plan["jobs"][p["job"]]["runs"][p["run"]]["keep"]
            visible += placed[p["job"], p["run"]]
    fresh_rows = []
    for p in plan["prompt"]:
        for i, token in enumerate(p.get("tokens", [])):
            fresh_rows.append(rows.add(token, p["position"] + i, visible))
            visible = visible + fresh_rows[-1:]
    return rows, fresh_rows


def block_mask(rows, window):
    """Additive; `window` positions, the row's own included, or all."""
    n = len(rows.tokens)
    mask = torch.full((1, 1, n, n), torch.finfo(torch.float32).min)
    for i, sees in enumerate(rows.sees):
        mask[0, 0, i, [j for j in sees
                       if window is None or rows.positions[i] - rows.positions[j] < window]] = 0.0
    return mask


def alibi_of(model, positions):
    """MPT's bias between any two rows, of the slopes it has itself: [heads, n, n]."""
    last = build_mpt_alibi_tensor(model.config.n_heads, 2)  # of keys 1 and 0 positions back
    distances = torch.tensor(positions)[:, None] - torch.tensor(positions)[None]
    return last[:, :, :1] * distances


def text_config(model):
    return model.config.get_text_config()


def forward(model, rows):
    inputs = {"position_ids": torch.tensor([rows.positions])}
    mask = block_mask(rows, getattr(text_config(model), "sliding_window", None) or None)
    if text_config(model).model_type in ("gemma2", "gemma3_text", "gemma4_text", "smollm3", "olmo3",
                                         "exaone4", "gpt_oss"):
        # Kinds of layers: each takes its own mask.
        mask = {"full_attention": block_mask(rows, None), "sliding_attention": mask}
    if text_config(model).model_type == "mpt":
        inputs = {}
        bias = alibi_of(model, rows.positions)
        model.transformer.build_mpt_alibi_tensor = lambda *_, **__: bias
    recurrent = recurrent_rows.is_recurrent(text_config(model))
    if recurrent:
        mask = recurrent_rows.masks(block_mask(rows, None))
    with torch.no_grad(), recurrent_rows.row_by_row(model, rows) if recurrent else nullcontext():
        logits = model(input_ids=torch.tensor([rows.tokens]), attention_mask=mask,
                       use_cache=False, **inputs).logits[0]
    if text_config(model).model_type == "mpt":
        del model.transformer.build_mpt_alibi_tensor  # the class's own again
    return logits


def can_be_said(model, plan, rows):
    """Positions within the model's context; learned ones cannot be shifted."""
    config = text_config(model)
    context = getattr(config, "max_seq_len", None) or config.max_position_embeddings
    moves = any(shift_of(plan, j) for j in range(len(plan["jobs"])))
    return max(rows.positions) < context and not (moves and config.model_type in ("gpt2", "hunyuan_v1_dense"))


def longrope_context(model, rows):
    """The context to open with, so that the table is the one that transformers takes here."""
    original = text_config(model).rope_parameters["original_max_position_embeddings"]
    fits = max(rows.positions) + 1 <= original
    return original if fits else text_config(model).max_position_embeddings


def check_scaffold(model, plan, logits):
    """A scaffold over all imports is the full prefill, which needs no mask of ours."""
    tokens = [t for p in plan["prompt"]
              for t in (p.get("tokens") or plan["jobs"][p["job"]]["runs"][p["run"]]["tokens"])]
    with torch.no_grad():
        full = model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0]
    difference = (full[-logits.shape[0]:] - logits).abs().max().item()
    assert difference < 2e-5, difference


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=pathlib.Path, default=here / "models")
    parser.add_argument("--out", type=pathlib.Path, default=here / "plans")
    parser.add_argument("--only", nargs="+", default=MODELS, help="these models alone")
    args = parser.parse_args()
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.only:
        model = model_class(AutoConfig.from_pretrained(args.models / name)).from_pretrained(
            args.models / name, dtype=torch.float32, attn_implementation="eager").eval()
        for seed, make in enumerate(PLANS):
            plan = {"model": name, "vocab_size": text_config(model).vocab_size, **make(Words(seed))}
            rows, fresh_rows = lay_rows(plan)
            if not can_be_said(model, plan, rows):
                continue
            rope = getattr(text_config(model), "rope_parameters", None) or {}
            if rope.get("rope_type") == "longrope":
                plan["context"] = longrope_context(model, rows)
            logits = forward(model, rows)[fresh_rows].contiguous()
            if make is scaffold:
                check_scaffold(model, plan, logits)
            stem = args.out / f"{make.__name__}.{name}"
            stem.with_name(stem.name + ".json").write_text(json.dumps(plan) + "\n")
            stem.with_name(stem.name + ".bin").write_bytes(logits.numpy().astype("<f4").tobytes())


if __name__ == "__main__":
    main()
