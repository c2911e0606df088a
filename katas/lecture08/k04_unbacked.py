"""Unbacked sizes: numbers without a value.

``x[x > 0]`` has as many elements as are positive. While ``torch.export`` traces there are no
values, so its size is a symbol, u0. You may add to it, multiply it, slice by it. But:

    if found.shape[0] == 0:     Could not guard on data-dependent expression Eq(u0, 0)

Some questions are harmless. PyTorch keeps a range for each symbol, and the range may answer:

               3       8
    -----------[== u0 ==]---------      u0 > 1    True
                                        u0 == 9   False
                                        u0 > 5    an error: it depends

1. `decide` answers by the range alone.
2. `check` does what ``torch._check`` does: it promises, so the range shrinks.
3. `first` has a branch that raises. Promise instead; the artefact tests it when it is called.
4. `mean_of_positive` wants both branches. Leave the question to the call: arithmetic, or
   ``torch.cond`` over x. (Over `found` works with torch 2.13, and not yet with 2.11.)

About 10 lines. Begin on paper: u0 > 1 is a range too, from 2 on. In which ways can two ranges
overlap?
Afterwards open ``torch/fx/experimental/symbolic_shapes.py`` (`guard_or_false`) in site-packages.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import torch  # noqa: TC002 - your answer calls it


@dataclass
class Unbacked:
    """Given: an int of which its range is known, both ends included."""

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
    """Given: `size` is at least `lower` and at most `upper`. As a bool it is decided, or raises."""

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
    """Return whether it holds for each value in the range (True) or for none (False).

    None if that depends on the value.
    """
    # TODO: compare two ranges.
    raise NotImplementedError("decide")


def check(condition: Condition) -> None:
    """Promise the condition: of the range of its size, keep what fulfils it."""
    if decide(condition) is False:
        raise RuntimeError(f"expected {condition} to be True, but got False")
    # TODO: change condition.size.
    raise NotImplementedError("check")


def first(x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    """Return the sum of the first `count` elements of a vector; raise if it has fewer.

    `count` is an int64 without dims, and not negative, which need not be promised. The message of
    a promise is for Python: the artefact has its own.
    """
    n = count.item()
    # TODO: this branch does not export.
    if n > x.shape[0]:
        raise RuntimeError(f"{n} elements of {x.shape[0]}")
    return x[:n].sum()


def mean_of_positive(x: torch.Tensor) -> torch.Tensor:
    """Return the mean of the positive elements of a vector, 0 if there is none."""
    found = x[x > 0]
    # TODO: nor does this one.
    if found.shape[0] == 0:
        return x.new_zeros(())
    return found.mean()
