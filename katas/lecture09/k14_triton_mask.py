"""The first Triton kernel: programs, blocks, masks and strides.

A CUDA kernel says what one thread does. A Triton kernel says what one *program* does, to a block
of elements at once: ``tl.arange(0, 1024)`` is 1024 numbers, ``x + offsets`` 1024 pointers and
``tl.load`` loads all that they point to. Which thread holds which element is left to the compiler.
The programs of a launch differ in their number alone, ``tl.program_id(0)``. A block has a fixed
length, a power of 2 that is known when the kernel is compiled (a ``tl.constexpr``), and what it is
cut from rarely is a multiple of it: a *mask* says which lanes of the block stand for an element.

Both parts are about the gated linear unit of a matrix, ``torch.nn.functional.glu(x, -1)``, in one
pass over memory:

  out[i][j] = x[i][j] * sigmoid(x[i][j + n])        for x of shape (rows, 2 * n), out (rows, n)

The elements of out, numbered in row-major order, are cut into blocks of BLOCK = 1024, of which only
the last may have fewer: program p computes block p. Element e stands in row e // n, column e % n.

Part one: plain Python and PyTorch on the CPU, no Triton. What a kernel does before its notation.

- ``programs(size)``: how many programs a result of `size` elements takes: size / BLOCK, rounded up.
- ``arguments(x)``: what a kernel can be told of x beside its address, four ints: the number of
  elements of out, n, and x's two strides, row first. A ValueError, "glu: expected a matrix with an
  even number of columns, got shape (3, 5)", for any other shape (one line; ``tuple(x.shape)``).
- ``lanes(program, size, n, row_stride, column_stride)``: what one program touches, as ``Lanes``,
  four tensors of BLOCK elements. ``left`` and ``right`` are the places of what it loads from the
  two halves of x, ``out`` those that it stores: int64, counted in elements from the first element
  of x, or of out. ``mask`` (bool) says which lanes stand for an element; what the places of other
  lanes are does not matter. n is at least 1. A program knows its own block alone: no tensor that
  you make on the way has more than BLOCK elements.
- ``vector_width(places, mask, element_size)``: how many neighbouring lanes one instruction can
  serve. A thread moves 16 bytes at most, so begin with 16 // element_size lanes (a power of 2),
  cut the block into groups of so many, and halve the number until *each* group is fit: none of its
  lanes stands for an element; or all do, their places are p, p + 1, p + 2, ..., and p is a multiple
  of the number. (Memory begins at a multiple of 16 bytes.) A group of 1 is always fit. The lengths
  of places and mask are equal and a multiple of 16; element_size is 1, 2, 4, 8 or 16 bytes.

These four take about 20 lines. Negative sizes are out of scope.

Part two: the kernel, with Triton (the lecture's README says how to get it; without it, the tests
of part two are skipped). It is ``lanes`` again, in Triton's words: the compiler takes no call of a
function of yours that does not bear ``@triton.jit``.

``glu(x)`` returns a new contiguous tensor of shape (rows, n), of x's dtype and device, and for any
other shape the error of ``arguments``.

- x: float32 or float16, on the CPU or on a GPU, any strides: a slice, a transpose, an expanded row.
  One element of storage may stand in several places of x. Fewer than 2^31 elements of storage.
- It is computed in float32 and rounded to x's dtype once, when it is stored.
- One launch of ``glu_kernel``, of as many programs as ``programs`` says, along axis 0; an empty out
  takes none, and a grid of (0,) is allowed.
- The kernel finds its elements by x's strides. Each element of x is loaded once and each element
  of out stored once; nothing else is loaded or stored, not even by a lane whose result nobody
  wants.
- ``glu`` makes out by ``torch.empty`` and launches: no operator of PyTorch computes, copies, fills
  or makes a view of x.

The kernel is compiled for an NVIDIA GPU too, on a machine without one (sm_90), and the tests read
what it became (PTX): every load and store has a predicate, which is the mask; no shared memory is
used; and where x has column stride 1, n and the row stride are multiples of 16 and the memory of x
begins at a multiple of 16 bytes, each load and store moves 16 bytes per thread. The compiler cannot
look at places, as ``vector_width`` does: it works out from the arithmetic that the widest is fit in
every program, if it is told the strides as they are. An int argument that is 1, or a multiple of
16, makes a kernel of its own (specialization).

A working answer takes about 12 lines. The arguments of ``glu_kernel`` below are a proposal; they
have no annotations but ``tl.constexpr``, since the compiler reads them. Out of scope: gradients,
other dtypes, NaN. The README says how kernels run without a GPU, and how to read what the
interpreter says.

In PyTorch: ``aten/src/ATen/native/cuda/ActivationGluKernel.cu`` (``glu_kernel``: two inputs, which
are views of the halves of x, and a ``TensorIterator`` that knows their strides), and
``torch/_inductor/codegen/triton.py`` (``TritonKernel``), which writes kernels like yours: look at
``xoffset``, ``xindex`` and ``xmask`` in what ``TORCH_LOGS=output_code`` prints.
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


BLOCK = 1024


class Lanes(NamedTuple):
    """What one program touches, a tensor of BLOCK elements each."""

    left: torch.Tensor
    right: torch.Tensor
    out: torch.Tensor
    mask: torch.Tensor


def programs(size: int) -> int:
    """Return how many programs compute a result of `size` elements."""
    # TODO: a division that rounds up.
    raise NotImplementedError("programs")


def arguments(x: torch.Tensor) -> tuple[int, int, int, int]:
    """Return what the kernel is told of `x`: the size of the result, n, and the strides."""
    # TODO: check the shape; four numbers.
    raise NotImplementedError("arguments")


def lanes(program: int, size: int, n: int, row_stride: int, column_stride: int) -> Lanes:
    """Return what a program loads from both halves of x, what it stores, and its mask."""
    # TODO: the elements of the block, their rows and columns, their places.
    raise NotImplementedError("lanes")


def vector_width(places: torch.Tensor, mask: torch.Tensor, element_size: int) -> int:
    """Return how many neighbouring lanes one instruction can serve."""
    # TODO: the widest groups that are all fit.
    raise NotImplementedError("vector_width")


@triton.jit
def glu_kernel(x, out, size, n, row_stride, column_stride, BLOCK: tl.constexpr) -> None:
    """Compute one block of `out`, BLOCK elements in row-major order."""
    # TODO: the places of the block and its mask; rows and columns; two loads, one store.


def glu(x: torch.Tensor) -> torch.Tensor:
    """Return the left half of the columns of `x`, each times the sigmoid of its gate."""
    # TODO: make the result, launch the kernel.
    raise NotImplementedError("glu")
