"""A fused softmax in Triton: a row in registers, reductions, programs that take many rows.

Attention scales its scores, masks them and takes the softmax: three operators of PyTorch, each of
which reads a matrix and writes one. A kernel that holds a row in registers reads it once and writes
once. In Triton the row is a block, ``tl.max`` and ``tl.sum`` reduce it, and the compiler works out
the shuffles and the shared memory that k06_warp and k09_softmax are about.

``softmax(x, scale=1.0, *, causal=False)`` returns softmax(scale * x) along the rows of a matrix:

  out[i][j] = exp(scale * x[i][j] - m) / s     m: the maximum of scale * x[i][k] over all k that
                                               row i sees, s: the sum of exp(scale * x[i][k] - m)

Row i sees all columns; with ``causal``, those with k <= i. What it does not see is 0 in out.

- x: float32 or float16 of shape (rows, n), on the CPU or on a GPU, any strides, n at most 16384.
  out: a new contiguous tensor of its shape, dtype and device. scale: any finite float but 0.
- It is computed in float32 and rounded to x's dtype once, when it is stored. scale * x may be as
  large as 200,000, beyond the largest float16; so take m off before you multiply by anything else.
  float32 results are right if they are within 1e-4 of what float64 gives, relatively.
- An element of x may be -inf (if scale is positive), which makes a 0. Out of scope: rows in which
  all that is seen is -inf, +inf, NaN, other shapes and dtypes, gradients.
- One launch of ``softmax_kernel``, unless out is empty. A row is one block, of a length that is the
  next power of 2 (``triton.next_power_of_2``). A program for each row, but PROGRAMS = 16 at most:
  program p takes the rows p, p + P, p + 2 * P and so on, where P is the number of programs,
  ``tl.num_programs(0)``. For a small matrix the launch costs more than the work: programs that go
  on to another row cost no launch.
- Each element of x that its row sees is loaded once; others are never loaded, so that causal moves
  about half of a square matrix. Each element of out is stored once. Nothing else is touched.
- ``softmax`` makes out by ``torch.empty`` and launches: no operator of PyTorch computes, copies,
  fills or makes a view of x. The kernel does not call ``tl.softmax``, which has no masks.

A mask says what is not touched, not what the lane holds then, which is undefined: here it matters,
since every lane takes part in the maximum and in the sum. ``tl.load`` can be told (``other``), and
``tl.where`` chooses afterwards.

The kernel is compiled for a GPU without one too (sm_90), and the tests read the PTX. In rows of
1024 contiguous float32 a thread keeps its part in registers: if there are w warps, each thread has
1024 / (32 * w) elements, and one load and one store of 16 bytes for each 4 of them. (With causal
the stores only: a mask that may end between any two elements makes the compiler load each for
itself.) Between threads goes what the reductions need, by shuffles in a warp and by a few bytes of
shared memory from warp to warp: 8 per warp at most, where a row would be 4096.

A working answer takes about 20 lines. The arguments of ``softmax_kernel`` are a proposal; they have
no annotations but ``tl.constexpr``: a constexpr is part of the compiled kernel, so each value of it
is compiled anew, and an ``if`` over it costs nothing.

In PyTorch: ``torch/nn/functional.py`` (``scaled_dot_product_attention``, whose documentation has
the three operators), ``aten/src/ATen/native/cuda/PersistentSoftmax.cuh`` (``softmax_warp_forward``:
a row in registers, in CUDA) and ``torch/_inductor/choices.py``
(``should_use_persistent_reduction``, which asks whether to write such a kernel or one with a loop
over pieces of a row).
"""

from __future__ import annotations

import torch  # noqa: TC002 - your answer calls it
import triton
import triton.language as tl


PROGRAMS = 16


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
