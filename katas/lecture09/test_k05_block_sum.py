"""Tests of k05_block_sum: a tree in shared memory, two launches."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas import source
from plugins.kit import forbids_doubles


if TYPE_CHECKING:
    from plugins.kit import CudaExtension
    from plugins.kit import Ptx


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

THREADS = 256
MOST_BLOCKS = 64
GRID = MOST_BLOCKS * THREADS
MOST_BARRIERS = 10
MOST_WAVEFRONTS = 64


def check(extension: CudaExtension, n: int, device: str = "cpu") -> None:
    """Compare one sum of n small integers, which is exact in any order."""
    x = torch.randint(-8, 9, (n,), dtype=torch.float32, device=device)
    expected = x.sum().item()
    actual = extension.op("block_sum")(x).item()
    assert expected == actual, (
        f"the sum of {n} elements is {actual}, expected {expected}: which of them were left out,"
        " or added twice?"
    )


def test_one_element(extension: CudaExtension, device: str) -> None:
    """With one element, the other 255 threads take part with 0."""
    check(extension, 1, device)


@pytest.mark.parametrize("n", [2, 31, 32, 33, 255, 256, 257, 1000, 1023, 1024, 1025, GRID])
def test_blocks_put_their_sums_together(extension: CudaExtension, device: str, n: int) -> None:
    """The second launch sums what the first one left in partial, for one block or several."""
    check(extension, n, device)


@pytest.mark.parametrize("n", [GRID + 1, 3 * GRID - 5])
def test_a_thread_adds_up_several_elements(extension: CudaExtension, device: str, n: int) -> None:
    """If there are more elements than threads, each thread first sums its own."""
    check(extension, n, device)


def test_no_elements(extension: CudaExtension, device: str) -> None:
    """The sum of no elements is 0, not whatever was in memory."""
    actual = extension.op("block_sum")(torch.empty(0, device=device))
    assert () == tuple(actual.shape), f"expected shape (), yours is {tuple(actual.shape)}"
    assert 0.0 == actual.item(), f"the sum of no elements is {actual.item()}, expected 0"


@given(n=st.integers(1, 3_000))
def test_any_number_of_elements(extension: CudaExtension, n: int) -> None:
    """Test any n, in any order of blocks and threads."""
    check(extension, n)


@pytest.mark.parametrize("where", [0, 255, 256, 999])
@pytest.mark.parametrize(
    ("values", "expected"),
    [([math.inf], math.inf), ([math.nan], math.nan), ([-math.inf, math.inf], math.nan)],
)
def test_infinity_and_nan_reach_the_sum(
    extension: CudaExtension, device: str, where: int, values: list[float], expected: float
) -> None:
    """Special values propagate as they do in torch.sum."""
    x = torch.ones(1001, device=device)
    x[where : where + len(values)] = torch.tensor(values, device=device)
    actual = extension.op("block_sum")(x).cpu()
    assert torch.equal(torch.tensor(expected).isnan(), actual.isnan()), (
        f"{values} at {where} gave {actual.item()}, expected {expected}"
    )
    assert math.isnan(expected) or expected == actual.item(), (
        f"{values} at {where} gave {actual.item()}, expected {expected}"
    )


@pytest.mark.parametrize("n", [2, 1000, 2 * GRID])
def test_numbers_that_round_are_added(extension: CudaExtension, device: str, n: int) -> None:
    """Sum fractions too: apart from float32 rounding, the result is the float64 sum."""
    for scale in (1.0, 1e-20):
        x = scale * torch.rand(n, device=device)
        expected = x.double().sum().item()
        actual = extension.op("block_sum")(x).item()
        assert math.isclose(expected, actual, rel_tol=1e-5), (
            f"the sum of {n} fractions of {scale:g} is {actual}, in float64 it is {expected}"
        )


def test_the_bits_are_the_same_at_every_call(extension: CudaExtension, device: str) -> None:
    """Float addition depends on the order, so the order must not depend on which block is first."""
    # The terms cancel, so that a large sum does not hide what an addition loses.
    x = torch.randn(GRID, device=device)
    found = {extension.op("block_sum")(x).item().hex() for _ in range(8)}
    assert 1 == len(found), (
        f"8 calls with the same input gave {sorted(found)}: the blocks, or the threads, add in"
        " the order in which they happen to arrive, as atomicAdd does"
    )


@pytest.mark.parametrize("n", [0, 1, 257, GRID, 10**5])
def test_one_launch_for_the_blocks_and_one_for_their_sums(extension: CudaExtension, n: int) -> None:
    """The first grid has the given number of blocks, the second has one."""
    check(extension, n)
    launches = extension.launches()
    blocks = min(max(1, -(-n // THREADS)), MOST_BLOCKS)
    expected = [((blocks, 1, 1), (THREADS, 1, 1)), ((1, 1, 1), (THREADS, 1, 1))]
    actual = [(launch.grid, launch.block) for launch in launches]
    assert expected == actual, (
        f"n = {n}: expected the grids and blocks {expected}, found {actual}:\n"
        + "\n".join(launch.table() for launch in launches)
    )


@pytest.mark.parametrize("n", [GRID, 3 * GRID])
def test_each_element_is_read_once_by_neighbouring_threads(
    extension: CudaExtension, n: int
) -> None:
    """There are as many loads as values, 8 floats to a sector of 32 bytes, and none is repeated."""
    check(extension, n)
    for launch, values in zip(extension.launches(), (n, MOST_BLOCKS), strict=True):
        read = launch.count("global", "read")
        assert read.accesses <= values, (
            f"{read.accesses} loads for {values} elements: some are read twice\n{launch.table()}"
        )
        assert 8 * read.sectors <= values, (
            f"{read.sectors} sectors for {values} elements, {values // 8} hold them: which"
            f" elements do threads 0 to 31 read at the same time?\n{launch.table()}"
        )
    code = re.sub(
        r"//.*", "", source("katas.lecture09", "csrc/k05_block_sum.cu").read_text("utf-8")
    )
    assert "gridDim.x" in code, (
        "your kernel never uses gridDim.x: 64 blocks are the most on the CPU, and 1,024 on a GPU,"
        " where steps of 64 blocks would add elements several times"
    )


def test_log2_of_the_threads_barriers(extension: CudaExtension) -> None:
    """A tree of 256 leaves has 8 steps: 10 barriers per block are enough."""
    check(extension, GRID)
    for launch in extension.launches():
        atomics = launch.count("global", "atomic") + launch.count("shared", "atomic")
        assert 0 == atomics.accesses, (
            f"{atomics.accesses} atomic operations: threads that add to one place queue up,"
            f" and the order of the queue is random\n{launch.table()}"
        )
        each = launch.barriers / launch.grid[0]
        assert each <= MOST_BARRIERS, (
            f"{each} barriers per block, at most {MOST_BARRIERS} are allowed: how often does the"
            f" number of sums halve from {THREADS} to 1?\n{launch.table()}"
        )


@pytest.mark.parametrize("n", [GRID, 3 * GRID])
def test_warps_that_are_done_leave_shared_memory_alone(extension: CudaExtension, n: int) -> None:
    """Adjacent threads keep working, so that whole warps finish: at most 64 wavefronts per block.

    That holds for any number of elements per thread, which it sums in a register.
    """
    check(extension, n)
    for launch in extension.launches():
        shared = launch.count("shared")
        assert 0 == shared.conflicts, (
            f"{shared.conflicts} of {shared.wavefronts} wavefronts come from bank conflicts: how"
            f" far apart are the floats that neighbouring threads touch?\n{launch.table()}"
        )
        each = shared.wavefronts / launch.grid[0]
        assert each <= MOST_WAVEFRONTS, (
            f"{each} wavefronts of shared memory per block, at most {MOST_WAVEFRONTS} are allowed"
            " (a tree that halves takes 45): does each step keep every warp busy for a few of its"
            f" threads?\n{launch.table()}"
        )


def test_all_of_it_is_on_the_stream_of_the_caller(extension: CudaExtension) -> None:
    """In `with torch.cuda.stream(s)` the launch goes to s, not to the default stream."""
    with extension.simulated(stream=11):
        check(extension, 300)


@pytest.mark.parametrize("launch", [1, 2])
def test_a_launch_that_fails_is_reported(extension: CudaExtension, launch: int) -> None:
    """Either launch may fail; return the error that cudaGetLastError() reports."""
    with extension.refused(launch):
        check(extension, 300)


def test_nothing_is_in_float64(extension: CudaExtension) -> None:
    """The source has no double, and no literal without an f in float arithmetic."""
    check(extension, 1000)
    forbids_doubles(source("katas.lecture09", "csrc/k05_block_sum.cu"))


@pytest.mark.backend("nvcc")
def test_nvcc_adds_in_float32(ptx: Ptx) -> None:
    """Compiled for a GPU: barriers, shared memory, and nothing in float64."""
    assert ptx.count("bar.sync*", "barrier.*"), f"your kernel has no barrier:\n{ptx.table()}"
    assert ptx.count("add*.f32"), f"no add.f32, expected additions in float32:\n{ptx.table()}"
    assert 0 == ptx.count("*.f64*"), f"your kernel computes in double:\n{ptx.table()}"
