"""Reference solution of k15_triton_softmax."""

from __future__ import annotations

from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING

import torch


try:
    import triton
    import triton.language as tl
except ImportError:
    # Part one does not need it; without Triton a kernel stays a plain function.
    triton = SimpleNamespace(jit=lambda kernel: kernel)

if TYPE_CHECKING:
    from collections.abc import Callable


PROGRAMS = 16


def block_length(n: int) -> int:
    """Return the length of a block for a row of `n` elements."""
    return 1 << (n - 1).bit_length()


def rows_of(program: int, programs: int, rows: int) -> range | list[int]:
    """Return the rows that a program takes, one after the other."""
    return range(program, rows, programs)


def seen(row: int, n: int, block: int, *, causal: bool = False) -> torch.Tensor:
    """Return which lanes of a block stand for a column that `row` sees."""
    return torch.arange(block) < (min(row + 1, n) if causal else n)


def reduce(
    block: torch.Tensor, combine: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """Return one number of a block: halves are combined until one element is left."""
    while len(block) > 1:
        half = len(block) // 2
        block = combine(block[:half], block[half:])
    return block[0]


def softmax_block(loaded: torch.Tensor, seen: torch.Tensor, scale: float) -> torch.Tensor:
    """Return the softmax of ``scale * loaded`` over the lanes in `seen`, and 0 elsewhere."""
    # -inf is never the maximum, and its exponential is 0: lanes not seen change nothing.
    scores = torch.where(seen, loaded.float() * scale, -inf)
    powers = torch.exp(scores - reduce(scores, torch.maximum))
    return powers / reduce(powers, torch.add)


@triton.jit
def softmax_kernel(
    x, out, rows, n, scale, row_stride, column_stride, CAUSAL: tl.constexpr, BLOCK: tl.constexpr
) -> None:
    """Compute the rows of this program: they are as far apart as there are programs."""
    columns = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        seen = columns < n
        if CAUSAL:
            seen = seen & (columns <= row)
        scores = tl.load(x + row * row_stride + columns * column_stride, mask=seen)
        scores = tl.where(seen, scores.to(tl.float32) * scale, float("-inf"))
        powers = tl.exp(scores - tl.max(scores))
        # Elements that are not seen are stored too, as 0.
        tl.store(out + row * n + columns, powers / tl.sum(powers), mask=columns < n)


def softmax(x: torch.Tensor, scale: float = 1.0, *, causal: bool = False) -> torch.Tensor:
    """Return the softmax of each row of ``scale * x``."""
    rows, n = x.shape
    out = torch.empty(rows, n, dtype=x.dtype, device=x.device)
    if out.numel():
        softmax_kernel[(min(rows, PROGRAMS),)](
            x, out, rows, n, scale, *x.stride(), CAUSAL=causal, BLOCK=block_length(n)
        )
    return out
