"""Which ranks share a group? The arithmetic behind a device mesh.

Eight ranks, two nodes of four. ``init_device_mesh("cpu", (2, 4))`` makes a group for each row and
for each column:

             dim 1 ->
    dim 0    0  1  2  3       rank 6: with 4, 5, 7 along dim 1,
             4  5  6  7               with 2 along dim 0

Write `partners`, about 5 lines, without a mesh.

Begin in Python: ``torch.arange(8).view(2, 4)``, and find 6 in it.
Afterwards read ``DeviceMesh.get_group`` in ``torch/distributed/device_mesh.py``, in site-packages.
"""

from __future__ import annotations

import torch


def partners(rank: int, shape: tuple[int, ...], dim: int) -> list[int]:
    """Return all ranks of `rank`'s group along `dim` of a mesh, including itself, ascending.

    `dim` is not negative. The ranks fill the mesh in row-major order.
    """
    # TODO: all coordinates but that of dim stay the same.
    raise NotImplementedError("partners")
