"""Is it the memory or the arithmetic? Six operators, on paper.

A GPU that computes 60 TFLOP/s and reads 3 TB/s needs 20 operations for each byte, or it waits for
memory. Then a faster multiplier makes nothing faster.

    FLOP/s   |         __________  60 TFLOP/s
             |       /
             |     /  3 TB/s x FLOP/byte
             +----------+--------
                       20 FLOP/byte

Fill in the six rows of `work`; `bound` names the side.

Begin with `add`: how many results, how many bytes in and out?
Real life differs: each dtype has its own roof; tensor cores raise bfloat16's many times over.
Afterwards see ``mm_flop`` in ``torch/utils/flop_counter.py``, in site-packages.
"""

from __future__ import annotations

from typing import NamedTuple


RIDGE = 20


class Work(NamedTuple):
    """The work of an operator."""

    flops: int
    bytes: int


def bound(work: Work) -> str:
    """Return which roof an operator is under. Given."""
    return "compute" if work.flops >= RIDGE * work.bytes else "memory"


# The function, its tensors' dtype, and their sizes.
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

    An addition is one FLOP, and so is a multiplication. A matrix product has one of each for every
    pair of elements it multiplies. Each tensor is read or written once, at its size in memory.
    """
    # TODO: return {"add": Work(flops=..., bytes=...), ...}
    raise NotImplementedError("work")
