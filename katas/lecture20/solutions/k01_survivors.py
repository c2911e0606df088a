"""Who survives? Work it out on paper."""

from __future__ import annotations


# Left and right side of each box, its score, and the threshold. All boxes have the same height.
SCENES = {
    "row": (((0, 10), (4, 14), (8, 18)), (0.9, 0.8, 0.7), 0.3),
    "middle": (((0, 10), (4, 14), (8, 18)), (0.7, 0.9, 0.8), 0.3),
    "five": (((0, 10), (4, 14), (8, 18), (12, 22), (16, 26)), (0.9, 0.8, 0.7, 0.6, 0.5), 0.3),
    "mixed": (((0, 10), (4, 14), (8, 18), (12, 22)), (0.6, 0.7, 0.9, 0.5), 0.3),
    "nested": (((0, 20), (5, 10)), (0.9, 0.8), 0.3),
    "edge": (((0, 9), (3, 12)), (0.9, 0.8), 0.5),
}


def survivors() -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """For each scene, return who survives NMS and who survives the matrix; best score first."""
    return {
        "row": ((0, 2), (0,)),
        "middle": ((1,), (1,)),
        "five": ((0, 2, 4), (0,)),
        "mixed": ((2, 0), (2,)),
        "nested": ((0, 1), (0, 1)),
        "edge": ((0, 1), (0, 1)),
    }
