"""The first Triton kernel: programs, blocks, masks and strides.

A CUDA kernel says what one thread does. A Triton kernel says what one *program* does, to a block
of elements at once: ``tl.arange(0, 1024)`` is 1024 numbers, ``x + offsets`` 1024 pointers and
``tl.load`` loads all that they point to. Which thread holds which element is left to the compiler.
The programs of a launch differ in ``tl.program_id(0)`` alone. A block has a fixed length, a power
of 2 that is known when the kernel is compiled (a ``tl.constexpr``), and what it is cut from rarely
is a multiple of it: a *mask* says which elements of the block there are.

Write the gated linear unit of a matrix, ``torch.nn.functional.glu(x, -1)``, in one pass:

  out[i][j] = x[i][j] * sigmoid(x[i][j + n])        for x of shape (rows, 2 * n)

``glu(x)`` returns a new contiguous tensor of shape (rows, n), of x's dtype and device.

- x: float32 or float16, on the CPU or on a GPU, any strides: a slice, a transpose, an expanded row.
  One element of storage may stand in several places of x. Fewer than 2^31 elements of storage.
- It is computed in float32 and rounded to x's dtype once, when it is stored.
- A ValueError, "glu: expected a matrix with an even number of columns, got shape (3, 5)", for any
  other shape (on one line; the shape as a tuple, ``tuple(x.shape)``).
- One launch of ``glu_kernel``. The elements of out, numbered in row-major order, are cut into
  blocks of BLOCK = 1024, of which only the last may have fewer: program p computes block p. So
  there are rows * n / 1024 programs, rounded up, along axis 0; an empty out takes none, and a grid
  of (0,) is allowed.
- The kernel finds its elements by x's strides. Each element of x is loaded once and each element
  of out stored once; nothing else is loaded or stored, not even by a lane whose result nobody
  wants. Element e of out stands in row e // n and column e % n.
- ``glu`` makes out by ``torch.empty`` and launches: no operator of PyTorch computes, copies, fills
  or makes a view of x.

The kernel is compiled for an NVIDIA GPU too, on a machine without one (sm_90), and the tests read
what it became (PTX): every load and store has a predicate, which is the mask; no shared memory is
used; and where x has column stride 1, n and the row stride are multiples of 16 and the memory of x
begins at a multiple of 16 bytes, each load and store moves 16 bytes per thread. The compiler works
out for itself that it may, if it is told the strides as they are: an int argument that is 1, or a
multiple of 16, makes a kernel of its own (specialization).

A working answer takes about 15 lines. The arguments of ``glu_kernel`` below are a proposal; they
have no annotations but ``tl.constexpr``, since the compiler reads them. Out of scope: gradients,
other dtypes, NaN. The lecture's README says how kernels run without a GPU, and how to read what
the interpreter says.

In PyTorch: ``aten/src/ATen/native/cuda/ActivationGluKernel.cu`` (``glu_kernel``: two inputs, which
are views of the halves of x, and a ``TensorIterator`` that knows their strides), and
``torch/_inductor/codegen/triton.py`` (``TritonKernel``), which writes kernels like yours: look at
``xoffset``, ``xindex`` and ``xmask`` in what ``TORCH_LOGS=output_code`` prints.
"""

from __future__ import annotations

import torch  # noqa: TC002 - your answer calls it
import triton
import triton.language as tl


BLOCK = 1024


@triton.jit
def glu_kernel(x, out, size, n, row_stride, column_stride, BLOCK: tl.constexpr) -> None:
    """Compute one block of `out`, BLOCK elements in row-major order."""
    # TODO: the places of the block and its mask; rows and columns; two loads, one store.


def glu(x: torch.Tensor) -> torch.Tensor:
    """Return the left half of the columns of `x`, each times the sigmoid of its gate."""
    # TODO: check the shape, make the result, launch the kernel.
    raise NotImplementedError("glu")
