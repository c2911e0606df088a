"""Reference solution of k14_triton_mask."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


BLOCK = 1024


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
    if x.dim() != 2 or x.shape[1] % 2:
        raise ValueError(
            f"glu: expected a matrix with an even number of columns, got shape {tuple(x.shape)}"
        )
    rows, n = x.shape[0], x.shape[1] // 2
    out = torch.empty(rows, n, dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(out.numel(), BLOCK),)
    glu_kernel[grid](x, out, out.numel(), n, *x.stride(), BLOCK=BLOCK)
    return out
