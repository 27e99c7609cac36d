"""Recurrent layers of transformers' models over the rows of a block mask (make_mask_fixtures.py).

A row comes behind the rows that it sees, in order of position, whatever stands before it in the
one dense forward: its convolution reads the last of them, and its state is what they make of zeros,
each by the keys, values, decays and writes that it has itself. So the functions with which
transformers convolves and recurs over a sequence are called for each row anew, with the rows that
it sees for the sequence, and the last of what they give is the row's.
"""

import importlib
from contextlib import ExitStack, contextmanager
from unittest import mock

import torch

KINDS = ("linear_attention", "conv", "hybrid")  # of layers that carry states
FUNCTIONS = {"causal_conv1d_fn": 2, "torch_chunk_gated_delta_rule": 1, "mamba2_chunk_scan": 1}


def is_recurrent(config):
    kinds = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None) or []
    return any(kind in KINDS for kind in kinds)


def in_order(rows):
    """Of each row those that it sees, itself the last."""
    return [sorted(sees[:-1], key=lambda j: rows.positions[j]) + [i]
            for i, sees in enumerate(rows.sees)]


def for_each_row(function, axis, order):
    """`function` over sequences along this axis of its tensors, as long as there are rows."""
    def gathered(argument, seen):
        is_sequence = isinstance(argument, torch.Tensor) and argument.dim() > axis and \
            argument.dim() >= 3 and argument.shape[axis] == len(order)
        return argument[(slice(None),) * axis + (seen,)] if is_sequence else argument

    def call(*arguments, **named):
        made = []
        for seen in order:
            out = function(*(gathered(a, seen) for a in arguments),
                           **{name: gathered(a, seen) for name, a in named.items()})
            out = out[0] if isinstance(out, tuple) else out
            made.append(out.select(axis, -1))
        made = torch.stack(made, dim=axis)
        return (made, None) if function.__name__ == "torch_chunk_gated_delta_rule" else made
    return call


@contextmanager
def row_by_row(model, rows):
    """Within it the model's recurrent layers are computed so."""
    module = importlib.import_module(type(model).__module__)
    order = in_order(rows)
    with ExitStack() as stack:
        for name, axis in FUNCTIONS.items():
            if hasattr(module, name):
                call = for_each_row(getattr(module, name), axis, order)
                stack.enter_context(mock.patch.object(module, name, call))
        yield


def masks(full):
    """For a model that takes masks by the kinds of its layers: what carries states has none."""
    return {"full_attention": full, "linear_attention": None, "conv": None}
