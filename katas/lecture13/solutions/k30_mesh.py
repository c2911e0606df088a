"""The ranks of a group of a device mesh."""

from __future__ import annotations

import torch


def partners(rank: int, shape: tuple[int, ...], dim: int) -> list[int]:
    """Return all ranks of `rank`'s group along `dim` of a mesh, including itself, ascending.

    `dim` is not negative. The ranks fill the mesh in row-major order.
    """
    ranks = torch.arange(torch.Size(shape).numel()).view(shape)
    groups = ranks.movedim(dim, -1).reshape(-1, shape[dim])
    (found,) = groups[(groups == rank).any(1)].tolist()
    return found
