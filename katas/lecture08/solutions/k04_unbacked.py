"""Unbacked sizes: numbers without a value."""

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
    """Return True if the condition holds for every value in the range, False if for none."""
    size = condition.size
    if condition.lower <= size.lower and size.upper <= condition.upper:
        return True
    if size.upper < condition.lower or condition.upper < size.lower:
        return False
    return None


def check(condition: Condition) -> None:
    """Assume the condition: narrow its size's range to the values that satisfy it."""
    if decide(condition) is False:
        raise RuntimeError(f"expected {condition} to be True, but got False")
    condition.size.lower = max(condition.size.lower, condition.lower)
    condition.size.upper = min(condition.size.upper, condition.upper)


def first(x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    """Return the sum of the first `count` elements of a vector; raise if there are fewer."""
    n = count.item()
    torch._check(n <= x.shape[0])  # noqa: SLF001 - its name, in PyTorch's documentation too
    return x[:n].sum()


def mean_of_positive(x: torch.Tensor) -> torch.Tensor:
    """Return the mean of the positive elements of a vector, or 0 if there are none."""
    mean: torch.Tensor = torch.cond(
        (x > 0).any(), lambda y: y[y > 0].mean(), lambda y: y.new_zeros(()), (x,)
    )
    return mean
