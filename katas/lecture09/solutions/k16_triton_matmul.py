"""Reference solution of k16_triton_matmul."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


BLOCK_M, BLOCK_N, BLOCK_K = 64, 64, 32
GROUP = 4


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
    tiles_m, tiles_n = tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK_N)
    group = tl.program_id(0) // (GROUP * tiles_n)
    place = tl.program_id(0) % (GROUP * tiles_n)
    # The last group may have fewer rows of tiles.
    rows = min(tiles_m - group * GROUP, GROUP)
    tile_m, tile_n = group * GROUP + place % rows, place // rows
    i = (tile_m * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]
    j = (tile_n * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        p = start + tl.arange(0, BLOCK_K)
        left, right = p[None, :], p[:, None]
        # Beyond k both hold 0: the row of an infinity is not to meet one of padding.
        a = tl.load(x + i * x_row + left * x_column, mask=(i < m) & (left < k), other=0.0)
        b = tl.load(w + j * w_row + right * w_column, mask=(j < n) & (right < k), other=0.0)
        # For float16 this is what the product of float16 is anyway; for float32 no tf32.
        total = tl.dot(a, b, total, input_precision="ieee")
    if bias is not None:
        total += tl.load(bias + j, mask=j < n).to(tl.float32)
    if RELU:
        total = tl.maximum(total, 0.0)
    tl.store(out + i * n + j, total, mask=(i < m) & (j < n))


def linear(
    x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None = None, *, relu: bool = False
) -> torch.Tensor:
    """Return ``x @ w.t() + bias``, with what is below 0 set to 0 if `relu`."""
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
