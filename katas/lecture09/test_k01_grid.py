"""Tests of k01_grid: each thread of a launch knows its index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch


if TYPE_CHECKING:
    from plugins.kit import CudaExtension


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

THREADS = 4


def check(extension: CudaExtension, n: int, device: str = "cpu") -> None:
    """Let each thread store its index at that index."""
    found = extension.op("number")(torch.empty(0, device=device), n).tolist()
    assert list(range(n)) == found, (
        f"n = {n}: yours starts with {found[:12]}, expected {list(range(min(n, 12)))}: thread t"
        " of block b comes after b whole blocks"
    )


@pytest.mark.parametrize("n", [4, 3, 1])
def test_one_block(extension: CudaExtension, device: str, n: int) -> None:
    """In a single block, the index in the block is the index in the grid; not all threads store."""
    check(extension, n, device)


@pytest.mark.parametrize("n", [8, 10, 1000])
def test_several_blocks(extension: CudaExtension, device: str, n: int) -> None:
    """Test the grid that the brief draws, and larger ones."""
    check(extension, n, device)


@pytest.mark.parametrize(("n", "blocks"), [(1, 1), (4, 1), (5, 2), (8, 2), (10, 3)])
def test_the_launch(extension: CudaExtension, n: int, blocks: int) -> None:
    """Launch as many blocks as n elements take, rounded up; a thread stores at most one element."""
    check(extension, n)
    launches = extension.launches()
    assert 1 == len(launches), f"your code launches {len(launches)} kernels, expected one"
    grid, block = launches[0].grid, launches[0].block
    assert ((blocks, 1, 1), (THREADS, 1, 1)) == (grid, block), (
        f"n = {n}: expected {blocks} blocks of {THREADS} threads, your grid is {grid} of {block}"
    )
    storing = launches[0].active_threads
    assert n == storing, (
        f"n = {n}: {storing} threads store something, expected {n}, one for each element"
    )


@pytest.mark.parametrize(("grid", "block"), [(5, 8), (1, 96), (7, 33)])
def test_any_block(extension: CudaExtension, grid: int, block: int) -> None:
    """In a larger launch blockDim is not 4, so the kernel must not assume 4."""
    with extension.simulated(grid=grid, block=block):
        check(extension, 40 if grid * block >= 40 else 8)
