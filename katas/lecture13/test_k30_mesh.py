"""Tests of k30_mesh: groups on paper, and those of a real mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from katas.lecture13 import k30_mesh
from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import same
from katas.lecture13.k30_mesh import partners
from plugins.kit import forbids


if TYPE_CHECKING:
    from plugins.kit import World


def test_the_mesh_of_the_brief() -> None:
    """Rank 6 of two nodes of four."""
    same(partners(6, (2, 4), 1), [4, 5, 6, 7], "rank 6 of (2, 4), along dim 1: its row")
    same(partners(6, (2, 4), 0), [2, 6], "rank 6 of (2, 4), along dim 0: its column")


def test_one_dimension_is_everybody() -> None:
    """One dimension holds all ranks; along a dimension of size 1 the rank is alone."""
    same(partners(2, (5,), 0), [0, 1, 2, 3, 4], "rank 2 of (5,)")
    same(partners(2, (5, 1), 1), [2], "rank 2 of (5, 1), along dim 1")


def test_three_dimensions() -> None:
    """Data, pipeline and tensor parallelism: every group of a mesh holds each of its ranks."""
    shape = (2, 3, 4)
    whole = torch.arange(24).view(shape)
    for rank in range(24):
        a, b, c = (whole == rank).nonzero()[0].tolist()
        for dim, line in enumerate((whole[:, b, c], whole[a, :, c], whole[a, b, :])):
            same(partners(rank, shape, dim), line.tolist(), f"rank {rank} of {shape}, dim {dim}")


def of_mesh() -> list[list[int]]:
    """Return the ranks of this rank's groups in a real mesh."""
    mesh = init_device_mesh("cpu", (2, 2))
    return [dist.get_process_group_ranks(mesh.get_group(dim)) for dim in range(2)]


@pytest.mark.backend("gloo")
def test_they_are_the_groups_of_a_device_mesh(world: World) -> None:
    """The groups of four real ranks; your function needs no mesh."""
    with forbids(
        k30_mesh, "torch.distributed.device_mesh", "torch.distributed.init_device_mesh"
    ) as fresh:
        yours = [[fresh.partners(rank, (2, 2), dim) for dim in range(2)] for rank in range(4)]
    for rank, groups in enumerate(world(of_mesh, 4, timeout=SOON)):
        same(yours[rank], groups, f"rank {rank} of (2, 2), both dims; expected is PyTorch's")
