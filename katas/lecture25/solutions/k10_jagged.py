"""Jagged features by one gather, whatever the order of the bags."""

from __future__ import annotations

import torch


def offsets_of(lengths: torch.Tensor) -> torch.Tensor:
    """Return where each of n bags begins, and then where the last one ends: int64, [n + 1].

    `lengths` is int32 or int64, [n].
    """
    return torch.nn.functional.pad(lengths.cumsum(0), (1, 0))


def runs(starts: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return start, start + 1, ... for each bag, bag after bag: int64, [lengths.sum()].

    `starts` is int64 and `lengths` int32 or int64, both of [n]. Bags may be empty, overlap, and be
    in any order.
    """
    shift = (starts - offsets_of(lengths)[:-1]).repeat_interleave(lengths)
    return shift + torch.arange(len(shift))


def permute(
    values: torch.Tensor, lengths: torch.Tensor, order: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return values and lengths of the keys in `order`, which may leave out or repeat keys.

    `values` is [ids] or [ids, dim], of any dtype; a gradient flows to it. `lengths` is
    [keys, samples], and keeps its dtype.
    """
    starts = offsets_of(lengths.flatten())[:-1].view(lengths.shape)
    chosen = lengths[order]
    return values[runs(starts[order].flatten(), chosen.flatten())], chosen


def by_sample(values: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the values and lengths sample by sample, and within each sample key by key.

    The returned lengths are [samples, keys]; apply it to its own results, and you get the
    input back. A gradient flows to `values`.
    """
    starts = offsets_of(lengths.flatten())[:-1].view(lengths.shape)
    return values[runs(starts.t().flatten(), lengths.t().flatten())], lengths.t()
