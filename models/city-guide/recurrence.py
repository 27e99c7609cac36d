"""The recurrences of hybrid models, in chunks: products of matrices instead of a step a token.

Both keep a matrix S a head, of which a token reads and to which it writes:

    gated delta rule (arXiv 2412.06464)  S = d S;  S = S + b k (v - k S);  o = q S
    Mamba-2 (arXiv 2405.21060)           S = d S + k v;                    o = q S

with a decay d of each token.  All of it is computed in f32: decays multiply over long stretches.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def convolve(x: Tensor, taps: Tensor) -> Tensor:
    """Each channel of x [batch, length, channels] with the tokens before it; taps [channels, n], the own token last."""
    n = taps.shape[1]
    padded = F.pad(x, (0, 0, n - 1, 0))
    length = x.shape[1]
    made = padded[:, :length] * taps[:, 0]
    for i in range(1, n):
        made = made + padded[:, i : i + length] * taps[:, i]
    return made


def _chunks(x: Tensor, size: int) -> Tensor:
    """[batch, heads, length, ...] as [batch, heads, chunks, size, ...]; what is missing at the end is zero."""
    missing = -x.shape[2] % size
    x = F.pad(x, (0, 0) * (x.dim() - 3) + (0, missing))
    return x.unflatten(2, (-1, size))


def _pairs(sums: Tensor) -> Tensor:
    """From sums of logarithms of decays [..., n]: what is left at i of what was written at j, [..., i, j]."""
    n = sums.shape[-1]
    future = torch.ones(n, n, dtype=torch.bool).triu(1)
    return (sums.unsqueeze(-1) - sums.unsqueeze(-2)).masked_fill(future, float("-inf")).exp()


def gated_delta(q: Tensor, k: Tensor, v: Tensor, decay: Tensor, write: Tensor, chunk: int = 32) -> Tensor:
    """q, k [batch, heads, length, d_k], v [..., d_v]; decay (its logarithm) and write [batch, heads, length].

    Inside a chunk the values to write, u, obey (1 + A) u = b v - b k S with A the weighted products
    of keys, so that one triangular system a chunk replaces its steps (the WY form).
    """
    length, d_k = q.shape[2:]
    q, k, v, decay, write = (_chunks(t, chunk) for t in (q, k, v, decay, write))
    sums = decay.cumsum(-1)
    pairs = _pairs(sums)
    since, left = sums.exp().unsqueeze(-1), (sums[..., -1:] - sums).exp().unsqueeze(-1)
    weighted = k * write.unsqueeze(-1)
    both = torch.cat((v * write.unsqueeze(-1), weighted * since), dim=-1)
    both = torch.linalg.solve_triangular(weighted @ k.mT * pairs, both, upper=False, unitriangular=True)
    values, reading = both.split((v.shape[-1], d_k), dim=-1)
    readers = torch.cat((reading, q * since), dim=-2)  # what they read of S
    seen, kept, whole = q @ k.mT * pairs, (k * left).mT, sums[..., -1:].exp().unsqueeze(-1)
    state = torch.zeros(*q.shape[:2], d_k, v.shape[-1])
    made = []
    for i in range(q.shape[2]):
        known, old = (readers[:, :, i] @ state).split(chunk, dim=-2)
        new = values[:, :, i] - known
        made.append(old + seen[:, :, i] @ new)
        state = state * whole[:, :, i] + kept[:, :, i] @ new
    return torch.cat(made, dim=2)[:, :, :length]


def state_space(q: Tensor, k: Tensor, v: Tensor, decay: Tensor, chunk: int = 64) -> Tensor:
    """q, k [batch, 1, length, d_state], those of all heads; v [batch, heads, length, d_v]; decay its logarithm."""
    length = q.shape[2]
    q, k, v, decay = (_chunks(t, chunk) for t in (q, k, v, decay))
    sums = decay.cumsum(-1)
    inside = (q @ k.mT * _pairs(sums)) @ v
    left = (sums[..., -1:] - sums).exp().unsqueeze(-1)
    written = k.mT @ (v * left)  # [batch, heads, chunks, d_state, d_v]
    ends = F.pad(sums[..., -1].cumsum(-1), (1, 0))  # the sum before each chunk, and after the last
    between = _pairs(ends)[..., :-1, 1:]  # of a state at the end of chunk j, what is left before chunk i
    before = (between @ written.flatten(3)).view_as(written)
    made = inside + q @ before * sums.exp().unsqueeze(-1)
    return made.flatten(2, 3)[:, :, :length]


def gated_delta_by_steps(q: Tensor, k: Tensor, v: Tensor, decay: Tensor, write: Tensor) -> Tensor:
    """The definition of gated_delta, for comparison."""
    state = torch.zeros(*q.shape[:2], q.shape[-1], v.shape[-1])
    made = []
    for t in range(q.shape[2]):
        state = state * decay[:, :, t, None, None].exp()
        known = k[:, :, t].unsqueeze(-2) @ state
        new = (v[:, :, t].unsqueeze(-2) - known) * write[:, :, t, None, None]
        state = state + k[:, :, t].unsqueeze(-1) @ new
        made.append(q[:, :, t].unsqueeze(-2) @ state)
    return torch.cat(made, dim=2)


def state_space_by_steps(q: Tensor, k: Tensor, v: Tensor, decay: Tensor) -> Tensor:
    """The definition of state_space, for comparison."""
    state = torch.zeros(*v.shape[:2], q.shape[-1], v.shape[-1])
    made = []
    for t in range(q.shape[2]):
        state = state * decay[:, :, t, None, None].exp() + k[:, :, t].unsqueeze(-1) @ v[:, :, t].unsqueeze(-2)
        made.append(q[:, :, t].unsqueeze(-2) @ state)
    return torch.cat(made, dim=2)
