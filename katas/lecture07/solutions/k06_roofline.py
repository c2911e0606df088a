"""Is it the memory or the arithmetic? Six operators, on paper."""

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
    """Return the `Work` of each operator, in whole numbers, for the sizes in `OPERATORS`."""
    return {
        "add": Work(300 * 500, 4 * 3 * 300 * 500),
        "add_row": Work(300 * 500, 4 * (2 * 300 * 500 + 500)),
        "mm": Work(2 * 400 * 300 * 500, 4 * (400 * 300 + 300 * 500 + 400 * 500)),
        "mm_half": Work(2 * 400 * 300 * 500, 2 * (400 * 300 + 300 * 500 + 400 * 500)),
        "mm_one_row": Work(2 * 300 * 500, 4 * (300 + 300 * 500 + 500)),
        "bmm": Work(2 * 50 * 16 * 8 * 16, 4 * 50 * (16 * 8 + 8 * 16 + 16 * 16)),
    }
