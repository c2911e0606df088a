"""Ragged batches: keep the words, and no padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence


def pack(samples: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return values and offsets of at least one sample, each of shape [length, dims].

    Offsets are int64, one more than there are samples. A length may be 0.
    """
    lengths = torch.tensor([0, *(len(each) for each in samples)])
    return torch.cat([*samples]), lengths.cumsum(0)


def places(offsets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """For each row of values, return its sample and its position in that sample; both int64."""
    lengths = offsets.diff()
    sample = torch.arange(len(lengths)).repeat_interleave(lengths)
    return sample, torch.arange(len(sample)) - offsets[sample]


def pad(values: torch.Tensor, offsets: torch.Tensor, fill: float) -> torch.Tensor:
    """Return [samples, longest, dims] with `fill` after the end of each sample.

    If all samples are empty, the longest has length 0. `fill` may be infinite.
    """
    sample, place = places(offsets)
    lengths = offsets.diff()
    padded = values.new_full((len(lengths), int(lengths.max()), *values.shape[1:]), fill)
    padded[sample, place] = values
    return padded


def means(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Return the mean of each sample, [samples, dims]; an empty sample's mean is 0.

    A NaN, or a very large value, changes only its own sample's mean.
    """
    sample, _ = places(offsets)
    lengths = offsets.diff()
    sums = values.new_zeros(len(lengths), *values.shape[1:]).index_add(0, sample, values)
    return sums / lengths.clamp(min=1)[:, None]


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return x + y for two jagged tensors of equal lengths that were made separately.

    The sum has the symbolic size of `x`, so ``x + add(x, y)`` works.
    """
    if not torch.equal(x.offsets(), y.offsets()):
        raise ValueError("the samples differ in length")
    return torch.nested.nested_tensor_from_jagged(x.values() + y.values(), x.offsets())
