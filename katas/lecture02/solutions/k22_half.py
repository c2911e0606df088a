"""Half precision by hand: predict fifteen results of float16 and bfloat16."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


# Given: do not change.
def half(*values: float, device: str) -> torch.Tensor:
    """Return a float16 tensor: a scalar for one value, else a vector."""
    return torch.tensor(
        values if len(values) > 1 else values[0], dtype=torch.float16, device=device
    )


# Given: do not change.
def brain(*values: float, device: str) -> torch.Tensor:
    """Return a bfloat16 tensor: a scalar for one value, else a vector."""
    return torch.tensor(
        values if len(values) > 1 else values[0], dtype=torch.bfloat16, device=device
    )


# Given: do not change.
def counted(one: torch.Tensor, times: int) -> torch.Tensor:
    """Return the sum of `times` ones, one addition after the other."""
    total = one * 0
    for _ in range(times):
        total = total + one
    return total


# Given: do not change.
def collected(one: torch.Tensor, times: int) -> torch.Tensor:
    """Return the sum of `times` ones, all added into the same element by one operator."""
    index = torch.zeros(times, dtype=torch.int64, device=one.device)
    return torch.zeros_like(one)[None].index_add_(0, index, one.repeat(times))


# Given: do not change.
EXPRESSIONS: dict[str, Callable[[str], torch.Tensor]] = {
    "half 2049": lambda d: half(2049.0, device=d),
    "half 2051": lambda d: half(2051.0, device=d),
    "brain 257": lambda d: brain(257.0, device=d),
    "half 65519": lambda d: half(65519.0, device=d),
    "half 65520": lambda d: half(65520.0, device=d),
    "half 2**-24": lambda d: half(2.0**-24, device=d),
    "half 2**-25": lambda d: half(2.0**-25, device=d),
    "add 1 twice to half 2048": lambda d: half(2048.0, device=d) + 1 + 1,
    "count to 4096 in half": lambda d: counted(half(1.0, device=d), 4096),
    "sum of 4096 ones in half": lambda d: half(1.0, device=d).repeat(4096).sum(),
    "index_add of 4099 ones in half": lambda d: collected(half(1.0, device=d), 4099),
    "sum of 70000 ones in half": lambda d: half(1.0, device=d).repeat(70000).sum(),
    "mean of 70000 ones in half": lambda d: half(1.0, device=d).repeat(70000).mean(),
    "half 0.5 * 100000": lambda d: half(0.5, device=d) * 100000,
    "half 60000 + brain 60000": lambda d: half(60000.0, device=d) + brain(60000.0, device=d),
}


def predictions() -> dict[str, float]:
    """Return the value of every expression in `EXPRESSIONS`."""
    return {
        # From 2048 on the spacing is 2: halfway values round to the even multiple.
        "half 2049": 2048.0,
        "half 2051": 2052.0,
        "brain 257": 256.0,
        # The spacing is 32: halfway between 65504 and 65536, which does not exist, it overflows.
        "half 65519": 65504.0,
        "half 65520": math.inf,
        "half 2**-24": 2.0**-24,
        # Half of the smallest subnormal is halfway to 0, which is even.
        "half 2**-25": 0.0,
        "add 1 twice to half 2048": 2048.0,
        "count to 4096 in half": 2048.0,
        "sum of 4096 ones in half": 4096.0,
        # One operator, but each addition is written to the element, and rounded.
        "index_add of 4099 ones in half": 2048.0,
        # 70000 is exact in float32 and overflows when it is written; the mean is divided first.
        "sum of 70000 ones in half": math.inf,
        "mean of 70000 ones in half": 1.0,
        # 100000 stays in float32: 50000 is halfway between 49984 and 50016.
        "half 0.5 * 100000": 49984.0,
        # 60000 is exact in float16, but 59904 in bfloat16, with a spacing of 256; the sum is
        # float32.
        "half 60000 + brain 60000": 119904.0,
    }
