"""Who survives? Work it out on paper.

A detector finds each object many times. Non-maximum suppression (NMS) visits boxes from the best
score to the worst, and drops a box whose IoU with a box *kept before* is above the threshold. A
single matrix seems to say the same: drop a box whose IoU with *any better box* is above it.

    row    0  |---------|
           1      |---------|            IoU of 0 and 1: 6 / 14
           2          |---------|        IoU of 0 and 2: 2 / 18

Fill in `survivors`; your rows cannot call torch.

Begin with ``row``: who drops box 2? Afterwards see ``argsort`` in ``torch/_torch_docs.py``, in
site-packages.
"""

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
    # TODO: return {"row": ((..., ...), (...,)), ...}
    raise NotImplementedError("survivors")
