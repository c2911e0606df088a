"""A fused softmax in Triton: a row in registers.

Attention scales scores, masks them and takes the softmax: three operators, each of which reads a
matrix and writes one. A kernel that holds a row as a block reads once and writes once.

In k14_triton_mask a masked lane could hold anything, since nothing read it. Here every lane takes
part in the maximum and in the sum:

  lanes           0    1    2    3 (masked)
  loaded         -50  -51  -50   0            the maximum is 0, exp(-50) almost 0
  to be held     ?

1. block_length, rows_of: a block's length, a program's rows.
2. seen: the lanes that a row sees; with `causal`, columns up to the row's index.
3. reduce, by halves, and softmax_block: one row, in PyTorch.
4. softmax_kernel and softmax: the same with tl.max and tl.sum, and a loop over the program's rows.

About 27 lines; only step 4 needs Triton.

- Scores are float32: scale * x may be larger than any float16.
- Load each element that is seen once, and no other; store each once.

Begin on paper: what must a masked lane hold, before or after the scale?
Afterwards read should_use_persistent_reduction in torch/_inductor/choices.py.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import torch


try:
    import triton
    import triton.language as tl
except ImportError:
    # Part one does not need it; without Triton a kernel stays a plain function.
    triton = SimpleNamespace(jit=lambda kernel: kernel)

if TYPE_CHECKING:
    from collections.abc import Callable


PROGRAMS = 16


def block_length(n: int) -> int:
    """Return the length of a block for a row of `n` elements: the next power of 2, or n itself."""
    # TODO: the next power of 2.
    raise NotImplementedError("block_length")


def rows_of(program: int, programs: int, rows: int) -> range | list[int]:
    """Return a program's rows: the row of its own index, then every `programs`-th after it."""
    # TODO: from the program's own row on, in steps.
    raise NotImplementedError("rows_of")


def seen(row: int, n: int, block: int, *, causal: bool = False) -> torch.Tensor:
    """Return which lanes of a block stand for a column that `row` sees."""
    # TODO: two conditions, one of them for causal.
    raise NotImplementedError("seen")


def reduce(
    block: torch.Tensor, combine: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """Reduce a block to one number, a tensor without dims.

    Combine the first half with the second, ``combine(first, second)``, then the halves of the
    result, until one element is left: 10 calls for 1024.
    """
    # TODO: combine halves.
    raise NotImplementedError("reduce")


def softmax_block(loaded: torch.Tensor, seen: torch.Tensor, scale: float) -> torch.Tensor:
    """Return the float32 softmax of ``scale * loaded`` over the lanes in `seen`, and 0 elsewhere.

    Lanes that are not seen may hold anything: 0, NaN, infinity. A block keeps its length: do not
    index by the mask, and do not call PyTorch's softmax.
    """
    # TODO: scores, exponentials, quotients; what does a lane that is not seen hold?
    raise NotImplementedError("softmax_block")


@triton.jit
def softmax_kernel(
    x, out, rows, n, scale, row_stride, column_stride, CAUSAL: tl.constexpr, BLOCK: tl.constexpr
) -> None:
    """Compute the rows of this program; there are ``tl.num_programs(0)`` programs."""
    # TODO: a loop over rows; load what is seen, reduce twice, store.


def softmax(x: torch.Tensor, scale: float = 1.0, *, causal: bool = False) -> torch.Tensor:
    """Return the softmax of each row of ``scale * x``, in one launch.

    x is float32 or float16 of shape (rows, n) with any strides; scale is not 0. Launch a
    program for each row, but at most PROGRAMS. The result is new and contiguous, by torch.empty;
    no other operator of PyTorch runs, nor tl.softmax. An empty result needs no launch.
    """
    # TODO: allocate the result, launch the kernel.
    raise NotImplementedError("softmax")
