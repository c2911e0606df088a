"""A matrix product in Triton: tiles, the order of programs, and a fused epilogue.

In k08_matmul each thread of a block kept one element of a tile, and you wrote what went through
shared memory. In Triton a program keeps the tile as one block of float32, ``tl.dot`` adds a product
of two blocks to it, and the compiler picks the instruction (tensor cores, where there are any), the
shared memory, and copies that run while it multiplies. What is left to you is what it cannot know:
which tiles, in which order, with which masks, in which precision, and what comes behind the sum.

``linear(x, w, bias=None, *, relu=False)`` returns what ``torch.nn.functional.linear`` does, with a
ReLU behind it if asked for:

  out[i][j] = sum over p of x[i][p] * w[j][p]  + bias[j]        max(out[i][j], 0) with relu

- x: shape (m, k); w: (n, k); bias: (n,), contiguous, or None. All float32 or all float16, on the
  CPU or on one GPU; x and w of any strides. m, n and k may be 0: where only k is, a sum is 0.
  out: a new contiguous tensor of shape (m, n) and of x's dtype and device.
- Summed in float32, bias and ReLU included, and rounded to x's dtype once, when it is stored.
  float32 is multiplied as float32: tl.dot cuts it to tf32, 10 bits of mantissa, unless it is told
  otherwise, and PyTorch does not by default (``torch.backends.cuda.matmul.allow_tf32`` is False).
- One launch of ``linear_kernel``, one program for each tile of out, BLOCK_M * BLOCK_N elements, all
  along axis 0; the grid may be (0,). Tiles at the edges have fewer. Along k it goes in steps of
  BLOCK_K, a ``for`` loop over ``range``.
- Programs that run at the same time should need the same rows of x and w, which then come from the
  cache: the first 16 of 16 x 16 tiles in row-major order need 1 strip of x and 16 of w, as a square
  of 4 x 4 tiles they need 4 and 4. So the rows of tiles are taken in groups of GROUP = 4, of which
  the last may have fewer, and within a group the programs go down the group's rows of tiles first,
  then on to the next column. Of 5 x 2 tiles: (0, 0) (1, 0) (2, 0) (3, 0) (0, 1) ... (3, 1) (4, 0)
  (4, 1).
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

import torch  # noqa: TC002 - your answer calls it
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
    # TODO: which tile; a loop over steps along k; bias, relu, store.


def linear(
    x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None = None, *, relu: bool = False
) -> torch.Tensor:
    """Return ``x @ w.t() + bias``, with what is below 0 set to 0 if `relu`."""
    # TODO: make the result, launch the kernel.
    raise NotImplementedError("linear")
