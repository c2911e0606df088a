"""Half precision by hand: predict fifteen results of float16 and bfloat16.

Your loss rises a little and stays there, or is infinite, but the code is right. The numbers are the
problem:

                 significant bits    exponents      spacing at 1    largest
    float16      11                  -14 to 15      2**-10          65504
    bfloat16     8                   -126 to 127    2**-7           about 3.4e38

Write down the value of each expression in `EXPRESSIONS`, without running it.

- The spacing doubles at each power of two. Below 2**-14, float16 continues in multiples of 2**-24.
- Values round to the nearer neighbour; halfway, to the one whose last bit is 0. A value that would
  round to a number beyond the largest becomes infinite.
- Operators round what they write. Most compute in float32, and keep Python numbers in it too, so a
  sum or a mean rounds once, at its end; ``index_add_`` of a vector writes and rounds each addition.
- float16 with bfloat16 gives float32.

Begin on paper: which integers between 2048 and 2056 are float16s? A failure shows the rule of a
wrong row; your rows cannot call torch.
Afterwards open ``torch/include/torch/headeronly/util/Half.h`` in site-packages.
"""

from __future__ import annotations

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
    # TODO: 15 rows: return {"half 2049": ..., and so on}; use math.inf and 2.0**-24 if needed.
    raise NotImplementedError("predictions")
