"""Half precision by hand: predict what float16 and bfloat16 make of twenty-five expressions.

A float16 has 11 significant bits (10 of them stored) and exponents from -14 to 15; a bfloat16 has 8
(7 stored) and the exponents of float32, -126 to 127. So::

    float16     spacing at 1: 2**-10    largest: (2 - 2**-10) * 2**15 = 65504
    bfloat16    spacing at 1: 2**-7     largest: (2 - 2**-7) * 2**127

The spacing doubles with each power of two and stops shrinking at the smallest exponent: below
2**-14 float16 has subnormals, multiples of 2**-24. A value between two neighbours becomes the
nearer one; halfway, the one whose last bit is 0 (even). What would be rounded to the next number
after the largest is infinite.

Each operator rounds what it writes. Within, most kernels work in float32, Python numbers included,
so that a whole sum or mean rounds once. Not all: ``index_add`` (``index_put`` with ``accumulate``
too) adds into the result itself, and rounds each addition. Operands of float16 and bfloat16
together are promoted to float32. From float64 there is no direct way: the value goes to float32
first.

For each expression in `EXPRESSIONS` (given, do not change it) write down, without running it, the
value of the result as a Python float: ``math.inf`` and ``2.0**-24`` are good ways to write
some. 25 lines, pencil and paper: the tests run PyTorch, and take it away while they read yours.

In PyTorch: ``torch/headeronly/util/Half.h`` (``fp16_ieee_from_fp32_value``),
``torch/headeronly/util/BFloat16.h`` (``round_to_nearest_even``), ``aten/src/ATen/OpMathType.h``
(``OpMathType``: in which type a kernel works).
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
    "brain 259": lambda d: brain(259.0, device=d),
    "half 65519": lambda d: half(65519.0, device=d),
    "half 65520": lambda d: half(65520.0, device=d),
    "brain 65520": lambda d: brain(65520.0, device=d),
    "half 2**-24": lambda d: half(2.0**-24, device=d),
    "half 2**-25": lambda d: half(2.0**-25, device=d),
    "half 1.5 * 2**-25": lambda d: half(1.5 * 2.0**-25, device=d),
    "brain 2**-25": lambda d: brain(2.0**-25, device=d),
    "half 1 + 2**-11": lambda d: half(1.0, device=d) + 2.0**-11,
    "half 1 + 3 * 2**-11": lambda d: half(1.0, device=d) + 3 * 2.0**-11,
    "add 1 twice to half 2048": lambda d: half(2048.0, device=d) + 1 + 1,
    "sum of half 2048, 1, 1": lambda d: half(2048.0, 1.0, 1.0, device=d).sum(),
    "count to 4096 in half": lambda d: counted(half(1.0, device=d), 4096),
    "sum of 4096 ones in half": lambda d: half(1.0, device=d).repeat(4096).sum(),
    "index_add of 4099 ones in half": lambda d: collected(half(1.0, device=d), 4099),
    "count to 300 in brain": lambda d: counted(brain(1.0, device=d), 300),
    "sum of 70000 ones in half": lambda d: half(1.0, device=d).repeat(70000).sum(),
    "mean of 70000 ones in half": lambda d: half(1.0, device=d).repeat(70000).mean(),
    "half 60000 * 2 / 2": lambda d: half(60000.0, device=d) * 2 / 2,
    "half 0.5 * 100000": lambda d: half(0.5, device=d) * 100000,
    "half 60000 + brain 60000": lambda d: half(60000.0, device=d) + brain(60000.0, device=d),
    "double 1 + 2**-8 + 2**-40 to brain": lambda d: brain(1 + 2.0**-8 + 2.0**-40, device=d),
}


def predictions() -> dict[str, float]:
    """Return the value of every expression in `EXPRESSIONS`."""
    # TODO: return {"half 2049": ..., "half 2051": ..., and so on}
    raise NotImplementedError("predictions")
