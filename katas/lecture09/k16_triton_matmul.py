"""A matrix product in Triton: tiles, the order of programs, and a fused epilogue.

In k08_matmul each thread of a block kept one element of a tile, and you wrote what went through
shared memory. In Triton a program keeps the tile as one block of float32, ``tl.dot`` adds a product
of two blocks to it, and the compiler picks the instruction (tensor cores, where there are any), the
shared memory, and copies that run while it multiplies. What is left to you is what it cannot know:
which tiles, in which order, with which masks, in which precision, and what comes behind the sum.

Both parts are about what ``torch.nn.functional.linear`` does, x of shape (m, k), w of (n, k):

  out[i][j] = sum over p of x[i][p] * w[j][p]  + bias[j]

The elements of out are cut into tiles of BLOCK_M * BLOCK_N = 64 * 64, of which those at the edges
may have fewer. A program computes one tile, in steps of BLOCK_K = 32 along k.

Programs that run at the same time should need the same rows of x and w, which then come from the
cache: the first 16 of 16 x 16 tiles in row-major order need 1 strip of x and 16 of w, as a square
of 4 x 4 tiles they need 4 and 4. So the rows of tiles are taken in groups of GROUP = 4, of which
the last may have fewer, and within a group the programs go down the group's rows of tiles first,
then on to the next column. Of 5 x 2 tiles: (0, 0) (1, 0) (2, 0) (3, 0) (0, 1) ... (3, 1) (4, 0)
(4, 1).

Part one: plain Python and PyTorch on the CPU, no Triton. What a program loads, and what it costs.

- ``tile(program, tiles_m, tiles_n, group)``: the row and the column of the tile of a program, where
  out is `tiles_m` rows of `tiles_n` tiles (both at least 1) and groups have `group` rows of tiles.
  By arithmetic alone (+, -, *, //, %, min, max, comparisons): in a kernel there are no lists.
- ``step(tile, start, sizes, x_strides, w_strides)``: what one step loads, as a ``Step`` of four
  tensors. `tile` is (row, column), `start` where the step begins along k, `sizes` (m, n, k), and
  the strides are pairs. ``x`` has the places of x's elements, int64 of shape (BLOCK_M, BLOCK_K),
  counted in elements from the first of x; ``w`` those of w's, of shape (BLOCK_K, BLOCK_N), so that
  the product of both blocks is a tile. ``x_mask`` and ``w_mask`` (bool, of those shapes) say which
  lanes stand for an element; what the places of other lanes are does not matter. No tensor that
  you make on the way has more elements than the largest of the four.
- ``accumulate(total, a, b, step)``: `total` (float32, a tile) plus the product of `a` and `b`, the
  blocks that were loaded in a step, as a new tensor. Both are float32 or both float16, and hold
  anything where the step's masks are False: NaN, infinity. Multiplied and summed in float32. What
  the result is in rows beyond m and columns beyond n does not matter.
- ``traffic(m, n, k, block_m, block_n, group, wave)``: how many elements of x and of w come from
  memory (an int), with tiles of block_m * block_n. `wave` programs run at the same time: 0 to wave
  - 1, then the next; the last wave may have fewer. What a program of a wave needs is loaded from
  memory once in that wave, however many of them need it, and is forgotten behind it: so with a wave
  of 1, and tiles of 1 * 1, it is 2 * m * n * k. m, n and k may be 0.

These four take about 25 lines.

Part two: the kernel, with Triton (the lecture's README says how to get it; without it, the tests
of part two are skipped). It is ``tile``, ``step`` and ``accumulate`` again, in Triton's words: the
compiler takes no call of a function of yours that does not bear ``@triton.jit``.

``linear(x, w, bias=None, *, relu=False)`` returns what ``torch.nn.functional.linear`` does, with a
ReLU behind it if asked for: max(out[i][j], 0).

- x: shape (m, k); w: (n, k); bias: (n,), contiguous, or None. All float32 or all float16, on the
  CPU or on one GPU; x and w of any strides. m, n and k may be 0: where only k is, a sum is 0.
  out: a new contiguous tensor of shape (m, n) and of x's dtype and device.
- Summed in float32, bias and ReLU included, and rounded to x's dtype once, when it is stored.
  float32 is multiplied as float32: tl.dot cuts it to tf32, 10 bits of mantissa, unless it is told
  otherwise, and PyTorch does not by default (``torch.get_float32_matmul_precision()`` is
  "highest"; ``torch.backends.cuda.matmul.allow_tf32 = True``, the older switch, makes it "high").
- One launch of ``linear_kernel``, one program for each tile of out, in the order of ``tile`` with
  GROUP, all along axis 0; the grid may be (0,). The steps along k are a ``for`` loop over
  ``range``.
- Each program loads each element of x, w and bias that its tile needs once, and no other; each
  element of out is stored once, and never loaded. Elements that are infinite or NaN appear only
  where they belong: what is beyond k adds 0 * 0. (NaN under relu is out of scope.)
- ``linear`` makes out by ``torch.empty`` and launches: no operator of PyTorch computes, copies,
  fills or makes a view of x or w.

The kernel is compiled for a GPU without one too (sm_90), and the tests read the PTX: the products
of float16 are instructions of the tensor cores with float32 sums (``wgmma.mma_async`` or
``mma.sync``, ``.f32.f16.f16``), those of float32 are ``fma.rn.f32`` and nothing is ``.tf32``. Where
all sizes are multiples of 16 and rows are contiguous, tiles are copied to shared memory
asynchronously (``cp.async``), steps ahead, which the compiler does by itself for loads in a for
loop over range, and results are stored 16 bytes at once.

A working answer takes about 30 lines. The arguments of ``linear_kernel`` are a proposal, the sizes
of tiles are not. Out of scope: other dtypes, gradients, batches, tuning, sizes that do not agree.

In PyTorch: ``torch/_inductor/kernel/templates/triton_mm.py.jinja``, of which torch.compile makes
such kernels (``GROUP_M``), and ``aten/src/ATen/native/cuda/Blas.cpp``
(``addmm_activation_out_cuda``: bias and activation in the epilogue of a product of cuBLASLt,
``torch._addmm_activation``).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import torch  # noqa: TC002 - your answer calls it


try:
    import triton
    import triton.language as tl  # noqa: TC002 - so does your kernel
except ImportError:
    # Part one needs none of it; a kernel without Triton stays the function that it is.
    triton = SimpleNamespace(jit=lambda kernel: kernel)


BLOCK_M, BLOCK_N, BLOCK_K = 64, 64, 32
GROUP = 4


class Step(NamedTuple):
    """What a program loads in one step: places in x and in w, and their masks."""

    x: torch.Tensor
    x_mask: torch.Tensor
    w: torch.Tensor
    w_mask: torch.Tensor


def tile(program: int, tiles_m: int, tiles_n: int, group: int) -> tuple[int, int]:
    """Return the row and the column of a program's tile."""
    # TODO: which group, which place in it, how many rows the group has.
    raise NotImplementedError("tile")


def step(
    tile: tuple[int, int],
    start: int,
    sizes: tuple[int, int, int],
    x_strides: tuple[int, int],
    w_strides: tuple[int, int],
) -> Step:
    """Return what the program of a tile loads in the step that begins at `start`."""
    # TODO: rows and columns of the tile, places along k; two blocks of places, two masks.
    raise NotImplementedError("step")


def accumulate(total: torch.Tensor, a: torch.Tensor, b: torch.Tensor, step: Step) -> torch.Tensor:
    """Return `total` plus the product of the blocks that were loaded in a step."""
    # TODO: what does a lane hold that stands for no element?
    raise NotImplementedError("accumulate")


def traffic(m: int, n: int, k: int, block_m: int, block_n: int, group: int, wave: int) -> int:
    """Return how many elements of x and w come from memory, `wave` programs at a time."""
    # TODO: for each wave, the strips of x and of w that its tiles need.
    raise NotImplementedError("traffic")


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
    # TODO: which tile; a loop over steps along k; bias, relu, store.


def linear(
    x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None = None, *, relu: bool = False
) -> torch.Tensor:
    """Return ``x @ w.t() + bias``, with what is below 0 set to 0 if `relu`."""
    # TODO: make the result, launch the kernel.
    raise NotImplementedError("linear")
