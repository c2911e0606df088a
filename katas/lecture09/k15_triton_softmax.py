"""A fused softmax in Triton: a row in registers, reductions, programs that take many rows.

Attention scales its scores, masks them and takes the softmax: three operators of PyTorch, each of
which reads a matrix and writes one. A kernel that holds a row in registers reads it once and writes
once. In Triton the row is a block, ``tl.max`` and ``tl.sum`` reduce it, and the compiler works out
the shuffles and the shared memory that k06_warp and k09_softmax are about.

Both parts are about softmax(scale * x) along the rows of a matrix:

  out[i][j] = exp(scale * x[i][j] - m) / s     m: the maximum of scale * x[i][k] over all k that
                                               row i sees, s: the sum of exp(scale * x[i][k] - m)

Row i sees all columns; with ``causal``, those with k <= i. What it does not see is 0 in out.

A mask says what is not touched, not what the lane holds then, which is undefined. That did not
matter in k14_triton_mask, where each lane had a result of its own. Here every lane takes part in
the maximum and in the sum, so a masked lane has to hold what changes neither.

Part one: plain Python and PyTorch on the CPU, no Triton. One row, in a block.

- ``block_length(n)``: the length of a block that a row of n elements fits in, the next power of 2
  (n itself, if it is one). n is at least 1.
- ``rows_of(program, programs, rows)``: the rows that one of `programs` programs takes, in a range
  or a list: row number `program`, and then every row that is `programs` further on.
- ``seen(row, n, block, causal=False)``: which of `block` lanes stand for a column that `row` sees:
  bool, of that length. A row may have a greater number than the last column.
- ``reduce(block, combine)``: one number of a block (a tensor without dims), by halves: combine the
  first half with the second, ``combine(first, second)``, then the halves of the result, until one
  element is left. So a block of 1024 takes 10 calls, and that is why its length is a power of 2.
- ``softmax_block(loaded, seen, scale)``: the softmax of one block of scores, float32 of its length.
  `loaded` (float32 or float16) holds elements of x where `seen` is True, and anything where it is
  False: 0, NaN, infinity. There the result is 0. `seen` is any pattern with at least one True;
  `scale`, the elements and the precision are as in part two. A block has a fixed length: no
  indexing by a mask (``loaded[seen]``), whose result nobody can make room for. No softmax of
  PyTorch's and no logsumexp; `loaded` stays as it is.

These five take about 15 lines.

Part two: the kernel, with Triton (the lecture's README says how to get it; without it, the tests
of part two are skipped). It says part one in Triton's words: a loop over rows, a mask, two
reductions (``tl.max`` and ``tl.sum`` are calls of ``tl.reduce``, which takes a function as your
``reduce`` does), and a store. A lane that is not seen can be given a value when it is loaded
(``other``) or afterwards (``tl.where``).

``softmax(x, scale=1.0, *, causal=False)`` returns the softmax of each row.

- x: float32 or float16 of shape (rows, n), on the CPU or on a GPU, any strides, n at most 16384.
  out: a new contiguous tensor of its shape, dtype and device. scale: any finite float but 0.
- It is computed in float32 and rounded to x's dtype once, when it is stored. scale * x may be as
  large as 200,000, beyond the largest float16; so take m off before you multiply by anything else.
  float32 results are right if they are within 1e-4 of what float64 gives, relatively.
- An element of x may be -inf (if scale is positive), which makes a 0. Out of scope: rows in which
  all that is seen is -inf, +inf, NaN, other shapes and dtypes, gradients.
- One launch of ``softmax_kernel``, unless out is empty. A row is one block, as long as
  ``block_length`` says. A program for each row, but PROGRAMS = 16 at most: the rows are dealt as
  ``rows_of`` does, where the number of programs is ``tl.num_programs(0)``. For a small matrix the
  launch costs more than the work: programs that go on to another row cost no launch.
- Each element of x that its row sees is loaded once; others are never loaded, so that causal moves
  about half of a square matrix. Each element of out is stored once. Nothing else is touched.
- ``softmax`` makes out by ``torch.empty`` and launches: no operator of PyTorch computes, copies,
  fills or makes a view of x. The kernel does not call ``tl.softmax``, which has no masks.

The kernel is compiled for a GPU without one too (sm_90), and the tests read the PTX. In rows of
1024 contiguous float32 a thread keeps its part in registers: if there are w warps, each thread has
1024 / (32 * w) elements, and one load and one store of 16 bytes for each 4 of them. (With causal
the stores only: a mask that may end between any two elements makes the compiler load each for
itself.) Between threads goes what the reductions need, by shuffles in a warp and by a few bytes of
shared memory from warp to warp: 8 per warp at most, where a row would be 4096.

A working answer takes about 18 lines. The arguments of ``softmax_kernel`` are a proposal; they have
no annotations but ``tl.constexpr``: a constexpr is part of the compiled kernel, so each value of it
is compiled anew, and an ``if`` over it costs nothing when the kernel runs.

In PyTorch: ``torch/nn/functional.py`` (``scaled_dot_product_attention``, whose documentation has
the three operators), ``aten/src/ATen/native/cuda/PersistentSoftmax.cuh`` (``softmax_warp_forward``:
a row in registers, in CUDA) and ``torch/_inductor/choices.py``
(``should_use_persistent_reduction``, which asks whether to write such a kernel or one with a loop
over pieces of a row).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import torch  # noqa: TC002 - your answer calls it


try:
    import triton
    import triton.language as tl  # noqa: TC002 - so does your kernel
except ImportError:
    # Part one needs none of it; a kernel without Triton stays the function that it is.
    triton = SimpleNamespace(jit=lambda kernel: kernel)

if TYPE_CHECKING:
    from collections.abc import Callable


PROGRAMS = 16


def block_length(n: int) -> int:
    """Return the length of a block for a row of `n` elements."""
    # TODO: the next power of 2.
    raise NotImplementedError("block_length")


def rows_of(program: int, programs: int, rows: int) -> range | list[int]:
    """Return the rows that a program takes, one after the other."""
    # TODO: from the program's own row on, in steps.
    raise NotImplementedError("rows_of")


def seen(row: int, n: int, block: int, *, causal: bool = False) -> torch.Tensor:
    """Return which lanes of a block stand for a column that `row` sees."""
    # TODO: two conditions, one of them for causal.
    raise NotImplementedError("seen")


def reduce(
    block: torch.Tensor, combine: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """Return one number of a block: halves are combined until one element is left."""
    # TODO: combine halves.
    raise NotImplementedError("reduce")


def softmax_block(loaded: torch.Tensor, seen: torch.Tensor, scale: float) -> torch.Tensor:
    """Return the softmax of what is `seen` of ``scale * loaded``, and 0 elsewhere."""
    # TODO: scores, powers, quotients; what does a lane hold that is not seen?
    raise NotImplementedError("softmax_block")


@triton.jit
def softmax_kernel(
    x, out, rows, n, scale, row_stride, column_stride, CAUSAL: tl.constexpr, BLOCK: tl.constexpr
) -> None:
    """Compute every so manieth row of `out`, as many as there are programs apart."""
    # TODO: a loop over rows; load what is seen, reduce twice, store.


def softmax(x: torch.Tensor, scale: float = 1.0, *, causal: bool = False) -> torch.Tensor:
    """Return the softmax of each row of ``scale * x``."""
    # TODO: make the result, launch the kernel.
    raise NotImplementedError("softmax")
