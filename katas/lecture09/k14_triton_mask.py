"""The first Triton kernel: programs, blocks and masks.

A CUDA kernel defines what a thread does, a Triton kernel what a *program* does, to a block of
elements at once. x + offsets is 1024 pointers; tl.load loads all of them, and the compiler picks
the threads. Blocks have a fixed length, and a mask says which lanes stand for an element:

  out, 2500 elements    |  program 0: 1024  |  program 1: 1024  |  program 2: 452, then masked  |

Write out[i][j] = x[i][j] * sigmoid(x[i][j + n]), which is F.glu. Steps 1 to 3 need no Triton: they
say in PyTorch what a kernel touches.

1. programs and arguments: what the launch knows.
2. lanes: what one program loads and stores.
3. vector_width: how many lanes one instruction can serve.
4. glu_kernel and glu: lanes again, in Triton.

About 30 lines. Triton is optional: the lecture's README says how to get it, and what its errors
mean.

Begin on paper: which row and column is element 1024 in, if n is 32?
Afterwards run TORCH_LOGS=output_code and find xindex and xmask, which
torch/_inductor/codegen/triton.py writes.
Real life differs: without a GPU, Triton interprets your kernel, one program after the other.
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


BLOCK = 1024


class Lanes(NamedTuple):
    """What one program touches: each field is a tensor of BLOCK elements."""

    left: torch.Tensor
    right: torch.Tensor
    out: torch.Tensor
    mask: torch.Tensor


def programs(size: int) -> int:
    """Return how many programs compute a result of `size` elements: blocks, rounded up."""
    # TODO: a division that rounds up.
    raise NotImplementedError("programs")


def arguments(x: torch.Tensor) -> tuple[int, int, int, int]:
    """Return what the kernel is told about `x`: size of the result, n, row and column stride.

    Raise ValueError "glu: expected a matrix with an even number of columns, got shape (3, 5)" for
    any other shape.
    """
    # TODO: check the shape; return four numbers.
    raise NotImplementedError("arguments")


def lanes(program: int, size: int, n: int, row_stride: int, column_stride: int) -> Lanes:
    """Return what a program loads from both halves of x, what it stores, and its mask.

    Program p computes the elements of out from p * BLOCK on, in row-major order. Places are int64
    offsets, counted in elements, into x or out; where the mask is False they may be anything.
    No intermediate tensor has more than BLOCK elements.
    """
    # TODO: the elements of the block, their rows and columns, their places.
    raise NotImplementedError("lanes")


def vector_width(places: torch.Tensor, mask: torch.Tensor, element_size: int) -> int:
    """Return how many neighbouring lanes one instruction can serve.

    A thread of an H100 moves at most 16 bytes at once, so begin with 16 // element_size lanes,
    split the block into groups of that many, and halve until each group is fit: none of its lanes
    stands for an element, or all do, with places p, p + 1, ... where p is a multiple of its size.
    """
    # TODO: the widest groups that are all fit.
    raise NotImplementedError("vector_width")


@triton.jit
def glu_kernel(x, out, size, n, row_stride, column_stride, BLOCK: tl.constexpr) -> None:
    """Compute one block of `out`, in float32. Load and store each element once."""
    # TODO: the places of the block and its mask; rows and columns; two loads, one store.


def glu(x: torch.Tensor) -> torch.Tensor:
    """Return the left half of the columns of `x`, each times the sigmoid of its gate.

    x is float32 or float16 with any strides. The result is new and contiguous, by torch.empty on
    x's device; no other operator of PyTorch runs.
    """
    # TODO: allocate the result, launch the kernel.
    raise NotImplementedError("glu")
