"""Jagged features: reorder them without padding and without a loop.

A user has a few recent pages, many movies, or none. A batch of such features is one tensor of
values, key by key, and a table of lengths with a row per key and a column per sample:

              sample 0    sample 1
    key 0     50 51       (none)          lengths = [[2, 0],
    key 1     60          61 62 63                   [1, 3]]

    values = 50 51 60 61 62 63

Four functions, about 10 lines in all:
1. `offsets_of`: where each bag begins.
2. `runs`: the positions of many bags, in one tensor. The other two functions gather with it.
3. `permute`: choose keys.
4. `by_sample`: group by sample.

- No loop in Python, no ``tolist``, no padding: 300 keys or samples take as many operators as three.

Begin on paper: bags that start at [4, 0] and have lengths [2, 3] are at 4 5 0 1 2. Write 0 1 2 3 4
below them and subtract.
Afterwards read ``nested_tensor_from_jagged`` in ``torch/nested/__init__.py``, in site-packages.
Real life differs: torchrec's ``KeyedJaggedTensor`` keeps its lengths flat and knows its keys by
name.
"""

from __future__ import annotations

import torch


def offsets_of(lengths: torch.Tensor) -> torch.Tensor:
    """Return where each of n bags begins, and then where the last one ends: int64, [n + 1].

    `lengths` is int32 or int64, [n].
    """
    # TODO: the first bag begins at 0.
    raise NotImplementedError("offsets_of")


def runs(starts: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return start, start + 1, ... for each bag, bag after bag: int64, [lengths.sum()].

    `starts` is int64 and `lengths` int32 or int64, both of [n]. Bags may be empty, overlap, and be
    in any order.
    """
    # TODO: positions in the result, plus a difference that is the same for a whole bag.
    raise NotImplementedError("runs")


def permute(
    values: torch.Tensor, lengths: torch.Tensor, order: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return values and lengths of the keys in `order`, which may leave out or repeat keys.

    `values` is [ids] or [ids, dim], of any dtype; a gradient flows to it. `lengths` is
    [keys, samples], and keeps its dtype.
    """
    # TODO: where do the bags of the chosen keys start?
    raise NotImplementedError("permute")


def by_sample(values: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the values and lengths sample by sample, and within each sample key by key.

    The returned lengths are [samples, keys]; apply it to its own results, and you get the
    input back. A gradient flows to `values`.
    """
    # TODO: the same gather, with the bags in a different order.
    raise NotImplementedError("by_sample")
