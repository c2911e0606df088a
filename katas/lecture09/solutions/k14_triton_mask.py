"""Reference solution of k14_triton_mask."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import torch


try:
    import triton
    import triton.language as tl
except ImportError:
    # Part one does not need it; without Triton a kernel stays a plain function.
    triton = SimpleNamespace(jit=lambda kernel: kernel)


BLOCK = 1024


class Lanes(NamedTuple):
    """What one program touches: each field is a tensor of BLOCK elements."""

    left: torch.Tensor
    right: torch.Tensor
    out: torch.Tensor
    mask: torch.Tensor


def programs(size: int) -> int:
    """Return how many programs compute a result of `size` elements."""
    return -(-size // BLOCK)


def arguments(x: torch.Tensor) -> tuple[int, int, int, int]:
    """Return what the kernel is told about `x`: the size of the result, n, and the strides."""
    if x.dim() != 2 or x.shape[1] % 2:
        raise ValueError(
            f"glu: expected a matrix with an even number of columns, got shape {tuple(x.shape)}"
        )
    rows, n = x.shape[0], x.shape[1] // 2
    return rows * n, n, *x.stride()


def lanes(program: int, size: int, n: int, row_stride: int, column_stride: int) -> Lanes:
    """Return what a program loads from both halves of x, what it stores, and its mask."""
    out = program * BLOCK + torch.arange(BLOCK)
    row, column = out // n, out % n
    left = row * row_stride + column * column_stride
    # The gate of an element is in the same row, n columns further on.
    return Lanes(left, left + n * column_stride, out, out < size)


def _fit(places: torch.Tensor, mask: torch.Tensor) -> bool:
    """Return whether one instruction can serve each row of lanes."""
    wide = places.shape[1]
    first = places[:, :1]
    there = mask & (places == first + torch.arange(wide)) & (first % wide == 0)
    return bool((there.all(1) | ~mask.any(1)).all())


def vector_width(places: torch.Tensor, mask: torch.Tensor, element_size: int) -> int:
    """Return how many neighbouring lanes one instruction can serve."""
    wide = 16 // element_size
    # A group of one lane is always fit, so this ends.
    while not _fit(places.view(-1, wide), mask.view(-1, wide)):
        wide //= 2
    return wide


@triton.jit
def glu_kernel(x, out, size, n, row_stride, column_stride, BLOCK: tl.constexpr) -> None:
    """Compute one block of `out`, BLOCK elements in row-major order."""
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < size
    row, column = places // n, places % n
    left = x + row * row_stride + column * column_stride
    right = left + n * column_stride
    # What a masked lane holds is undefined, and is not stored.
    value = tl.load(left, mask=inside).to(tl.float32)
    gate = tl.load(right, mask=inside).to(tl.float32)
    # tl.store rounds to the dtype that `out` points to.
    tl.store(out + places, value * tl.sigmoid(gate), mask=inside)


def glu(x: torch.Tensor) -> torch.Tensor:
    """Return the left half of the columns of `x`, each times the sigmoid of its gate."""
    size, n, *strides = arguments(x)
    out = torch.empty(x.shape[0], n, dtype=x.dtype, device=x.device)
    glu_kernel[(programs(size),)](x, out, size, n, *strides, BLOCK=BLOCK)
    return out
