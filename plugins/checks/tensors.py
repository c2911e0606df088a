"""Draws tensors that bite: values, dtypes, shapes and strides that a wrong answer stumbles over.

Small whole numbers in fresh contiguous tensors hide most mistakes: a sum in float32, a test for
`x > 0` that loses NaN, an `as_strided` that assumes its own strides.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch
    from hypothesis import strategies as st


# Every fraction is irrational, so equal results of unequal formulas are no accident.
ROOTS = tuple(math.sqrt(n) for n in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37))
# Beside them: exact zeros of both signs, the infinities, NaN, and the smallest denormal.
SPECIAL = (0.0, -0.0, math.inf, -math.inf, math.nan, "denormal")
FINITE = (0.0, -0.0, "denormal")
LAYOUTS = ("contiguous", "permuted", "expanded", "offset", "stepped")


def tensors(
    dtypes: Sequence[torch.dtype] = (),
    *,
    min_dims: int = 0,
    max_dims: int = 4,
    max_side: int = 4,
    special: Sequence[float | str] = SPECIAL,
    layouts: Sequence[str] = LAYOUTS,
    shape: tuple[int, ...] | None = None,
) -> st.SearchStrategy[torch.Tensor]:
    """Return a strategy of tensors; hypothesis shows them with dtype, strides and storage offset.

    Parameters
    ----------
    dtypes
        One of them is drawn; float64 and float32 if there is none.
    min_dims, max_dims, max_side
        The shape: so many dims of sizes 0 to `max_side`, so a shape of any rank may be empty.
    special
        What may stand among the irrational values of floats and complex numbers: `SPECIAL`,
        `FINITE`, or (). Integers get their dtype's smallest and largest value, bools both.
    layouts
        How the elements lie in the storage, of `LAYOUTS`. An expanded tensor has a dim with
        stride 0, which shows one element several times: leave it out where one writes.
    shape
        This shape, instead of a drawn one.
    """
    import torch  # noqa: PLC0415 - takes a second
    from hypothesis import strategies as st  # noqa: PLC0415 - takes half a second

    sizes = st.lists(st.integers(0, max_side), min_size=min_dims, max_size=max_dims)

    @st.composite
    def drawn(draw: st.DrawFn) -> torch.Tensor:
        dtype = draw(st.sampled_from(dtypes or (torch.float64, torch.float32)))
        size = tuple(draw(sizes)) if shape is None else shape
        layout = draw(st.sampled_from(layouts))
        dice = random.Random(draw(st.integers(0, 1 << 16)))  # noqa: S311 - no secret
        biting = bool(special) and draw(st.booleans())
        return laid_out(size, layout, dtype, dice, special if biting else ())

    return drawn()


def laid_out(
    size: tuple[int, ...],
    layout: str,
    dtype: torch.dtype,
    dice: random.Random,
    special: Sequence[float | str],
) -> torch.Tensor:
    """Return a tensor of this size whose elements lie in its storage as `layout` says."""
    wide = list(size)
    order = list(range(len(size)))
    if layout == "permuted":
        dice.shuffle(order)
        wide = [size[dim] for dim in order]
    elif layout == "expanded" and size:
        wide[dice.randrange(len(size))] = 1
    elif layout == "offset":
        wide = [n + 1 for n in size]
    elif layout == "stepped":
        wide = [2 * n for n in size]
    x = filled(tuple(wide), dtype, dice, special)
    if layout == "permuted":
        return x.permute([order.index(dim) for dim in range(len(size))])
    if layout == "expanded":
        return x.expand(size)
    if layout == "offset":
        return x[tuple(slice(1, None) for _ in size)]
    if layout == "stepped":
        return x[tuple(slice(None, None, 2) for _ in size)]
    return x


def filled(
    size: tuple[int, ...], dtype: torch.dtype, dice: random.Random, special: Sequence[float | str]
) -> torch.Tensor:
    """Return a new row-major tensor with values that are drawn for its dtype."""
    import torch  # noqa: PLC0415 - takes a second

    count = math.prod(size)
    values: list[Any]
    if dtype is torch.bool:
        values = [dice.random() < 0.5 for _ in range(count)]  # noqa: PLR2004
    elif dtype.is_floating_point or dtype.is_complex:
        tiny = torch.finfo(dtype).smallest_normal / 4
        rare = [float(value) if value != "denormal" else tiny for value in special]
        parts = [_float(dice, rare) for _ in range(count * (1 + dtype.is_complex))]
        values = list(map(complex, parts[::2], parts[1::2])) if dtype.is_complex else parts
    else:
        info = torch.iinfo(dtype)
        small = [*range(max(info.min, -9), 10)]
        # One in ten is the smallest or the largest value that there is.
        pool = 9 * small + [info.min, info.max] * (len(small) // 2 if special else 0)
        values = [dice.choice(pool) for _ in range(count)]
    return torch.tensor(values, dtype=dtype).reshape(size)


def _float(dice: random.Random, rare: Sequence[float]) -> float:
    """Return a root with either sign, and now and then a special value."""
    if rare and dice.random() < 0.25:  # noqa: PLR2004
        return dice.choice(rare)
    return dice.choice((-1, 1)) * dice.choice(ROOTS) * dice.choice((1, 1, 1e-3, 1e3))
