"""Ragged batches: keep the words, and no padding.

Three captions have 2, 0 and 4 words. Padded to 4 words each, half of the batch is padding, and
every operator needs a mask. Without padding:

    values    a0 a1 c0 c1 c2 c3        [6, dims]
    offsets   0  2  2  6               sample i is values[offsets[i]:offsets[i + 1]]

1. `pack`, `places`, `pad`, `means`: by hand. No loop over samples, except in `pack`.
   Gradients pass through `pack`, `pad` and `means`, and through `add` too.
2. `add`: with PyTorch's own type. Run this first: the last of its three values raises.

       a, b = (torch.nested.nested_tensor_from_jagged(torch.ones(6, 2), torch.tensor([0, 2, 2, 6]))
               for _ in range(2))
       a.shape, b.shape, a + b

About 16 lines in all. Begin on paper: in which sample is each of the six words, and at which
position in it? With these two index tensors `pad` is one assignment. Afterwards read
``get_tensor_symint`` in ``torch/nested/_internal/nested_tensor.py``, in site-packages: when do two
tensors get the same ``j1``, and why are their lengths not compared? Real life differs: the mean of
a jagged tensor over its samples' rows, ``x.mean(1)``, is NaN for an empty sample, and in PyTorch
2.13 its backward raises an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence


def pack(samples: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return values and offsets of at least one sample, each of shape [length, dims].

    Offsets are int64, one more than there are samples. A length may be 0.
    """
    # TODO: the first offset is 0.
    raise NotImplementedError("pack")


def places(offsets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """For each row of values, return its sample and its position in that sample; both int64."""
    # TODO: torch.repeat_interleave.
    raise NotImplementedError("places")


def pad(values: torch.Tensor, offsets: torch.Tensor, fill: float) -> torch.Tensor:
    """Return [samples, longest, dims] with `fill` after the end of each sample.

    If all samples are empty, the longest has length 0. `fill` may be infinite.
    """
    # TODO: new_full, and an assignment.
    raise NotImplementedError("pad")


def means(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Return the mean of each sample, [samples, dims]; an empty sample's mean is 0.

    A NaN, or a very large value, changes only its own sample's mean.
    """
    # TODO: index_add.
    raise NotImplementedError("means")


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return x + y for two jagged tensors of equal lengths that were made separately.

    The sum has the symbolic size of `x`, so ``x + add(x, y)`` works.
    """
    if not torch.equal(x.offsets(), y.offsets()):
        raise ValueError("the samples differ in length")
    # TODO: torch.nested.nested_tensor_from_jagged.
    raise NotImplementedError("add")
