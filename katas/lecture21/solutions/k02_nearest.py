"""Predict which pixels ``nearest`` takes."""

from __future__ import annotations


ROWS = ("down", "halved", "up", "factor", "recomputed")


def taken() -> dict[str, tuple[list[int], list[int]]]:
    """For each row, return the input pixel that each output takes: nearest, then nearest-exact.

    A centre exactly between two pixels takes the right one.
    """
    return {
        "down": ([0, 1, 3], [0, 2, 4]),
        "halved": ([0, 2], [1, 3]),
        "up": ([0, 0, 1, 1, 2], [0, 0, 1, 2, 2]),
        "factor": ([0, 2, 5], [1, 4, 7]),
        "recomputed": ([0, 3, 6], [1, 5, 8]),
    }
