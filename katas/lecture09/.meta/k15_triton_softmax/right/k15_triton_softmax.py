"""By powers of 2, with what is not seen left out of the sum, and a grid that is a function."""

from __future__ import annotations

from types import SimpleNamespace

import torch


try:
    import triton
    import triton.language as tl
except ImportError:
    triton = SimpleNamespace(jit=lambda kernel: kernel)


PROGRAMS = 16


def block_length(n: int) -> int:
    """Return the length of a block for a row of `n` elements."""
    length = 1
    while length < n:
        length *= 2
    return length


def rows_of(program: int, programs: int, rows: int) -> list[int]:
    """Return the rows that a program takes, one after the other."""
    return [row for row in range(rows) if row % programs == program]


def seen(row: int, n: int, block: int, *, causal: bool = False) -> torch.Tensor:
    """Return which lanes of a block stand for a column that `row` sees."""
    mask = torch.zeros(block, dtype=torch.bool)
    mask[: row + 1 if causal else n] = True
    mask[n:] = False
    return mask


def reduce(block: torch.Tensor, combine: object) -> torch.Tensor:
    """Return one number of a block: halves are combined until one element is left."""
    if block.numel() == 1:
        return block.squeeze()
    return reduce(combine(*block.chunk(2)), combine)


def softmax_block(loaded: torch.Tensor, seen: torch.Tensor, scale: float) -> torch.Tensor:
    """Return the softmax of ``scale * loaded`` over the lanes in `seen`, and 0 elsewhere."""
    scores = loaded.double() * scale
    # Finite, so that no infinity is taken off another one.
    largest = torch.where(seen, scores, -1e300).max()
    powers = torch.where(seen, torch.exp(scores - largest), 0.0)
    return (powers / powers.sum()).float()


@triton.jit
def softmax_kernel(
    x,
    out,
    rows,
    n,
    scale,
    row_stride,
    column_stride,
    CAUSAL: tl.constexpr,
    BLOCK: tl.constexpr,
    LIMIT: tl.constexpr,
) -> None:
    """Compute every LIMIT-th row of `out`, or one."""
    j = tl.arange(0, BLOCK)
    step = tl.num_programs(0)
    for turn in range(tl.cdiv(rows - tl.program_id(0), step)):
        row = tl.program_id(0) + turn * step
        last = n
        if CAUSAL:
            last = min(n, row + 1)
        place = x + row * row_stride + j * column_stride
        loaded = tl.load(place, mask=j < last, other=0.0).to(tl.float32) * scale
        # Finite, so that no infinity is taken off another one.
        largest = tl.max(tl.where(j < last, loaded, -3.4e38), 0)
        # exp(y) is 2 to the power of y * log2(e).
        powers = tl.math.exp2((loaded - largest) * 1.4426950408889634)
        powers = tl.where(j < last, powers, 0.0)
        tl.store(out + row * n + j, powers * (1.0 / tl.sum(powers, 0)), mask=j < n)


def softmax(x: torch.Tensor, scale: float = 1.0, *, causal: bool = False) -> torch.Tensor:
    """Return the softmax of each row of ``scale * x``."""
    rows, n = x.size()
    out = torch.empty((rows, n), dtype=x.dtype, device=x.device)
    if rows == 0 or n == 0:
        return out
    block = max(triton.next_power_of_2(n), 2)
    softmax_kernel[lambda options: (min(rows, options["LIMIT"]),)](
        x, out, rows, n, scale, x.stride(0), x.stride(1), causal, block, LIMIT=PROGRAMS
    )
    return out
