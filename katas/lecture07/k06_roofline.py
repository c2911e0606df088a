"""Is it the memory or the arithmetic? Six operators, on paper.

A GPU that computes 60 TFLOP/s and reads 3 TB/s needs 20 operations for each byte, or it waits for
the memory. A faster multiplier then makes nothing faster.

    FLOP/s   |         __________  60 TFLOP/s
             |       /
             |     /  3 TB/s x FLOP/byte
             +----------+--------
                       20 FLOP/byte

Write the six rows of `work`; `bound` says the side.

Begin with `add`: how many results, how many bytes in and out?
Real life differs: each dtype has a roof of its own; tensor cores raise that of bfloat16 manifold.
Afterwards see ``mm_flop`` in ``torch/utils/flop_counter.py``, in site-packages.
"""

from __future__ import annotations

from typing import NamedTuple


RIDGE = 20


class Work(NamedTuple):
    """What an operator does."""

    flops: int
    bytes: int


def bound(work: Work) -> str:
    """Return which roof an operator is under. Given."""
    return "compute" if work.flops >= RIDGE * work.bytes else "memory"


# The function, the dtype of its tensors, their sizes.
OPERATORS: dict[str, tuple[str, str, list[tuple[int, ...]]]] = {
    "add": ("torch.add", "float32", [(300, 500), (300, 500)]),
    "add_row": ("torch.add", "float32", [(300, 500), (500,)]),
    "mm": ("torch.mm", "float32", [(400, 300), (300, 500)]),
    "mm_half": ("torch.mm", "bfloat16", [(400, 300), (300, 500)]),
    "mm_one_row": ("torch.mm", "float32", [(1, 300), (300, 500)]),
    "bmm": ("torch.bmm", "float32", [(50, 16, 8), (50, 8, 16)]),
}


def work() -> dict[str, Work]:
    """Return the `Work` of each operator, in whole numbers, for the sizes in `OPERATORS`.

    An addition is one FLOP, and so is a multiplication. A product of matrices has one of each for
    each pair of elements that meet. Bytes: each tensor is read or written one time, as large as it
    is in memory.
    """
    # TODO: return {"add": Work(flops=..., bytes=...), ...}
    raise NotImplementedError("work")
