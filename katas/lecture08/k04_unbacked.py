"""Unbacked sizes: numbers without a value.

``x[x > 0]`` has as many elements as x has positive ones. There are no values while ``torch.export``
traces, so the size is a symbol, u0. You may add to it, multiply it, slice by it. But:

    if found.shape[0] == 0:     Could not guard on data-dependent expression Eq(u0, 0)

Some questions are harmless. PyTorch keeps a range for each symbol, and the range may answer:

               3       8
    -----------[== u0 ==]---------      u0 > 1    True
                                        u0 == 9   False
                                        u0 > 5    an error: it depends

1. `decide` answers from the range alone.
2. `check` does what ``torch._check`` does: it makes a promise, so the range shrinks.
3. `first` has a branch that raises. Promise instead; the artefact checks it when it is called.
4. `mean_of_positive` needs both branches. Decide when it is called: use arithmetic, or
   ``torch.cond`` over x. (Over `found` it works with torch 2.13, but not with 2.11.)

About 10 lines. Begin on paper: u0 > 1 is a range too, from 2 up. In which ways can two ranges
overlap?
Afterwards open ``torch/fx/experimental/symbolic_shapes.py`` (`guard_or_false`) in site-packages.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import torch


@dataclass
class Unbacked:
    """Given: an int known only by its range, both ends included."""

    lower: float = -inf
    upper: float = inf

    def __lt__(self, k: int) -> Condition:
        """Return u0 < k."""
        return Condition(self, -inf, k - 1)

    def __le__(self, k: int) -> Condition:
        """Return u0 <= k."""
        return Condition(self, -inf, k)

    def __gt__(self, k: int) -> Condition:
        """Return u0 > k."""
        return Condition(self, k + 1, inf)

    def __ge__(self, k: int) -> Condition:
        """Return u0 >= k."""
        return Condition(self, k, inf)

    def equals(self, k: int) -> Condition:
        """Return u0 == k."""
        return Condition(self, k, k)


@dataclass
class Condition:
    """Given: `lower` <= `size` <= `upper`. Using it as a bool decides it, or raises."""

    size: Unbacked
    lower: float
    upper: float

    def __bool__(self) -> bool:
        """Return the decision."""
        answer = decide(self)
        if answer is None:
            raise ValueError(f"could not guard on {self}: it depends on data")
        return answer


def decide(condition: Condition) -> bool | None:
    """Return True if the condition holds for every value in the range, False if for none.

    Return None if the answer depends on the value.
    """
    # TODO: compare two ranges.
    raise NotImplementedError("decide")


def check(condition: Condition) -> None:
    """Assume the condition: narrow its size's range to the values that satisfy it."""
    if decide(condition) is False:
        raise RuntimeError(f"expected {condition} to be True, but got False")
    # TODO: change condition.size.
    raise NotImplementedError("check")


def first(x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    """Return the sum of the first `count` elements of a vector; raise if there are fewer.

    `count` is an int64 tensor without dims; it is never negative, so you need not promise that. A
    promise's message appears only in Python: the artefact has its own.
    """
    n = count.item()
    # TODO: this branch does not export.
    if n > x.shape[0]:
        raise RuntimeError(f"{n} elements of {x.shape[0]}")
    return x[:n].sum()


def mean_of_positive(x: torch.Tensor) -> torch.Tensor:
    """Return the mean of the positive elements of a vector, or 0 if there are none."""
    found = x[x > 0]
    # TODO: this branch does not export either.
    if found.shape[0] == 0:
        return x.new_zeros(())
    return found.mean()
