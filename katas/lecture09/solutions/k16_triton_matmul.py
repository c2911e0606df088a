"""A matrix product in Triton: a tile in registers, then bias and ReLU."""

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


BLOCK_M, BLOCK_N, BLOCK_K = 64, 64, 32
GROUP = 4


class Step(NamedTuple):
    """What a program loads in one step: offsets into x and w, and their masks."""

    x: torch.Tensor
    x_mask: torch.Tensor
    w: torch.Tensor
    w_mask: torch.Tensor


def step(
    tile: tuple[int, int],
    start: int,
    sizes: tuple[int, int, int],
    x_strides: tuple[int, int],
    w_strides: tuple[int, int],
) -> Step:
    """Return what the program of a tile loads in the step that begins at `start`."""
    m, n, k = sizes
    i = (tile[0] * BLOCK_M + torch.arange(BLOCK_M))[:, None]
    j = (tile[1] * BLOCK_N + torch.arange(BLOCK_N))[None, :]
    p = start + torch.arange(BLOCK_K)
    # k runs along the columns of x's block, and along the rows of w's, which is transposed.
    left, right = p[None, :], p[:, None]
    return Step(
        i * x_strides[0] + left * x_strides[1],
        (i < m) & (left < k),
        j * w_strides[0] + right * w_strides[1],
        (j < n) & (right < k),
    )


def accumulate(total: torch.Tensor, a: torch.Tensor, b: torch.Tensor, step: Step) -> torch.Tensor:
    """Return `total` plus the product of the blocks that were loaded in a step."""
    # Beyond k both blocks hold 0: an infinity times the other block's 0 would be NaN.
    a = torch.where(step.x_mask, a.float(), 0.0)
    b = torch.where(step.w_mask, b.float(), 0.0)
    return total + a @ b


@triton.jit
def linear_kernel(
    x,
    w,
    bias,
    out,
    m,
    n,
    k,
    x_row,
    x_column,
    w_row,
    w_column,
    RELU: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
) -> None:
    """Compute one tile of `out`, BLOCK_M by BLOCK_N."""
    # Given: the tile of this program, as in k23_triton_tiles.
    tiles_m, tiles_n = tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK_N)
    group = tl.program_id(0) // (GROUP * tiles_n)
    place = tl.program_id(0) % (GROUP * tiles_n)
    rows = min(tiles_m - group * GROUP, GROUP)
    tile_m, tile_n = group * GROUP + place % rows, place // rows
    i = (tile_m * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]
    j = (tile_n * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        p = start + tl.arange(0, BLOCK_K)
        left, right = p[None, :], p[:, None]
        # Beyond k both blocks hold 0: an infinity times the other block's 0 would be NaN.
        a = tl.load(x + i * x_row + left * x_column, mask=(i < m) & (left < k), other=0.0)
        b = tl.load(w + j * w_row + right * w_column, mask=(j < n) & (right < k), other=0.0)
        # For float16 this changes nothing; for float32 it rules out tf32.
        total = tl.dot(a, b, total, input_precision="ieee")
    if bias is not None:
        total += tl.load(bias + j, mask=j < n).to(tl.float32)
    if RELU:
        total = tl.maximum(total, 0.0)
    tl.store(out + i * n + j, total, mask=(i < m) & (j < n))


def linear(
    x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None = None, *, relu: bool = False
) -> torch.Tensor:
    """Return ``x @ w.t() + bias``, with negative values set to 0 if `relu`. Given."""
    (m, k), n = x.shape, w.shape[0]
    out = torch.empty(m, n, dtype=x.dtype, device=x.device)
    linear_kernel[(triton.cdiv(m, BLOCK_M) * triton.cdiv(n, BLOCK_N),)](
        x,
        w,
        bias,
        out,
        m,
        n,
        k,
        *x.stride(),
        *w.stride(),
        RELU=relu,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        BLOCK_K=BLOCK_K,
        GROUP=GROUP,
    )
    return out
