"""Two counters that lose counts: find and fix the bugs.

    x = torch.zeros(3)
    x[[0, 0, 2]] += 1           # [1, 0, 1]: where is the other 1?

    ones = torch.ones(4099, dtype=torch.float16)
    zero = torch.zeros(4099, dtype=torch.int64)
    torch.zeros(1, dtype=torch.float16).index_add_(0, zero, ones)    # 2048

Both functions run (nothing raises NotImplementedError), but count too little. Each takes a line or
two to fix.

Begin on paper: in which order does the first function read, add and write?
Afterwards read ``index_put_`` in ``aten/src/ATen/native/TensorAdvancedIndexing.cpp``.
"""

from __future__ import annotations

import torch


# TODO: one bug in each function.
def histogram(values: torch.Tensor, bins: int) -> torch.Tensor:
    """Return how often each of 0 to bins - 1 occurs in the int64 vector `values`, as int64."""
    counts = values.new_zeros(bins)
    counts[values] += 1
    return counts


def totals(values: torch.Tensor, groups: torch.Tensor, count: int) -> torch.Tensor:
    """For each of `count` groups, return the sum of its `values`, a float vector, in their dtype.

    ``groups[i]`` is the group of ``values[i]``. Round a half precision sum only once, at the end.
    """
    result = values.new_zeros(count)
    return result.index_add_(0, groups, values)
