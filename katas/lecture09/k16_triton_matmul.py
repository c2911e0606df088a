"""A matrix product in Triton: a tile in registers, and what is fused after it.

In k08_matmul each thread kept one sum, and you moved tiles through shared memory. Here a program
keeps a tile as one block of float32, tl.dot adds a product of two blocks, and the compiler picks
the tensor cores, the shared memory, and copies that run ahead. You say which elements, with which
masks, in which precision:

            w, on its side  (k, BLOCK_N)
  x (BLOCK_M, k)   ->   out tile = x @ w.t() + bias, then relu

1. step: what a program loads in one step along k.
2. accumulate: the running sum, plus the product of what was loaded.
3. linear_kernel: both in Triton, then bias and relu. Its tile, the store and the launch
   are given.

About 23 lines.

- Beyond k both blocks hold 0: 0 * inf is NaN.
- tl.dot reduces float32 to tf32, 10 bits of mantissa, unless input_precision says otherwise.
  PyTorch does not.
- Sums are float32, including the bias, and are rounded once.

Begin on paper: what shape does p have in x's block, and in w's?
Afterwards read torch/_inductor/kernel/templates/triton_mm.py.jinja.
Real life differs: templates try many sizes of tiles.
"""

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
    """Return what the program of a tile (row, column) loads in the step that begins at `start`.

    `sizes` are (m, n, k), strides (row, column). x's block is BLOCK_M by BLOCK_K, w's BLOCK_K by
    BLOCK_N, so that their product is a tile. Offsets count elements from the first one; masks say
    which lanes stand for an element.
    """
    # TODO: rows and columns of the tile, indices along k; two blocks of offsets, two masks.
    raise NotImplementedError("step")


def accumulate(total: torch.Tensor, a: torch.Tensor, b: torch.Tensor, step: Step) -> torch.Tensor:
    """Return `total` plus the product of the blocks that were loaded, as a new float32 tensor.

    a and b are float32 or float16, and may hold anything where the step's masks are False.
    """
    # TODO: what must a lane hold if it stands for no element?
    raise NotImplementedError("accumulate")


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
    # TODO: a loop over steps along k; then bias and relu
    tl.store(out + i * n + j, total, mask=(i < m) & (j < n))


def linear(
    x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None = None, *, relu: bool = False
) -> torch.Tensor:
    """Return ``x @ w.t() + bias``, with negative values set to 0 if `relu`. Given."""
    raise NotImplementedError("linear_kernel")  # TODO: delete this when the kernel is written
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
