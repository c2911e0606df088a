"""Predict which pixels ``nearest`` takes.

Shrink a mask: its last column is gone, but its first remains. The mode is ``nearest``, yet
it does not take the nearest pixel. And does ``scale_factor=0.35`` mean 0.35?

    row           pixels   call
    down          5        size=3
    halved        4        size=2
    up            3        size=5
    factor        10       scale_factor=0.35
    recomputed    10       scale_factor=0.35, recompute_scale_factor=True

Fill in `taken`, on paper; your rows cannot call torch.

Begin with ``down``. Afterwards see ``aten/src/ATen/native/UpSample.h`` in PyTorch's repository.
"""

from __future__ import annotations


ROWS = ("down", "halved", "up", "factor", "recomputed")


def taken() -> dict[str, tuple[list[int], list[int]]]:
    """For each row, return the input pixel that each output takes: nearest, then nearest-exact.

    A centre exactly between two pixels takes the right one.
    """
    # TODO: return {"down": ([...], [...]), ...}
    raise NotImplementedError("taken")
