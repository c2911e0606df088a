"""Tests of k12_barriers: each bug has its test; more tests check that the structure stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st


if TYPE_CHECKING:
    from plugins.kit import CudaExtension
    from plugins.kit import Launch


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

THREADS = 256
MOST_BLOCKS = 32
FULL = 6 * THREADS
ALL = pytest.mark.parametrize("name", ["smooth", "scan", "sum"])


def smooth(x: torch.Tensor) -> torch.Tensor:
    """Return the sum of each element and its two neighbours."""
    padded = torch.nn.functional.pad(x, (1, 1))
    return padded[:-2] + padded[1:-1] + padded[2:]


def scan(x: torch.Tensor) -> torch.Tensor:
    """Return the running sums, which start again at every 256th element."""
    sums = [part.cumsum(0, dtype=torch.int32) for part in x.split(THREADS)]
    return torch.cat(sums)


def total(x: torch.Tensor) -> torch.Tensor:
    """Return the sum of all elements."""
    return x.sum(dtype=torch.int32)


PLAIN = {"smooth": smooth, "scan": scan, "sum": total}


def draw(n: int, device: str = "cpu") -> torch.Tensor:
    """Return n elements, none of them 0; sums of a few exceed 16 bits."""
    return torch.randint(1, 60_000, (n,), dtype=torch.int32, device=device)


def check(extension: CudaExtension, name: str, n: int, device: str = "cpu") -> None:
    """Compare with PyTorch, in three orders of threads; one call has all signs reversed."""
    drawn = draw(n, device)
    for x in (drawn, -drawn, drawn):
        expected = PLAIN[name](x)
        actual = extension.op(name)(x)
        wrong = (expected != actual).reshape(-1).nonzero().flatten().tolist()
        assert [] == wrong, (
            f"{name} of {n} elements: {len(wrong)} of {expected.numel()} are wrong, the first is"
            f" number {wrong[0]}: {actual.reshape(-1)[wrong[0]].item()},"
            f" expected {expected.reshape(-1)[wrong[0]].item()}"
        )


def launched(extension: CudaExtension, name: str, n: int = FULL) -> Launch:
    """Check a call, and return its only launch."""
    check(extension, name, n)
    launches = extension.launches()
    names = [launch.kernel for launch in launches]
    assert 1 == len(launches), f"expected one launch, found {len(launches)}: {names}"
    return launches[0]


@pytest.mark.parametrize("n", [1, 2, 31, 33, 100, 255, 257, 1000])
def test_neighbours_are_added_when_they_are_loaded(
    extension: CudaExtension, device: str, n: int
) -> None:
    """Smooth: a thread adds what others load, which may not be loaded yet."""
    check(extension, "smooth", n, device)


@pytest.mark.parametrize("n", [256, 512, 1024])
def test_nothing_is_loaded_past_the_end(extension: CudaExtension, device: str, n: int) -> None:
    """Smooth: the last thread of the last block has a neighbour that does not exist."""
    check(extension, "smooth", n, device)


@pytest.mark.parametrize("n", [256, 512, 1024])
def test_a_step_of_the_scan_reads_before_it_writes(
    extension: CudaExtension, device: str, n: int
) -> None:
    """Scan: every thread reads values from before the step; one with nothing to read waits."""
    check(extension, "scan", n, device)


@pytest.mark.parametrize("n", [1, 2, 32, 100, 255, 257, 1000])
def test_threads_without_an_element_come_to_the_barriers(
    extension: CudaExtension, device: str, n: int
) -> None:
    """Scan: the last block has fewer elements than threads, and no thread returns early."""
    check(extension, "scan", n, device)


@pytest.mark.parametrize("n", [1, 2, 32, 100, 255, 256])
def test_one_block_adds_up_its_sums(extension: CudaExtension, device: str, n: int) -> None:
    """Sum: half of the threads add what others have stored; a warp does not run in lockstep."""
    check(extension, "sum", n, device)


@pytest.mark.parametrize("n", [257, 1000, 8192, 8193, 20_000])
def test_no_block_disturbs_another(extension: CudaExtension, device: str, n: int) -> None:
    """Sum: all blocks add to the same total, in any order."""
    check(extension, "sum", n, device)


def test_the_sum_of_nothing_is_0(extension: CudaExtension, device: str) -> None:
    """Sum: without elements there is no launch, and the total is 0."""
    check(extension, "sum", 0, device)
    if device == "cpu":
        assert [] == extension.launches(), "expected no launch, not even of one idle block"


@pytest.mark.given
@pytest.mark.parametrize("name", ["smooth", "scan"])
def test_no_elements(extension: CudaExtension, device: str, name: str) -> None:
    """Without elements, there is no launch, and nothing is written."""
    x = draw(0, device)
    assert (0,) == tuple(extension.op(name)(x).shape)


@ALL
@given(n=st.integers(1, 3000))
def test_any_number_of_elements(extension: CudaExtension, name: str, n: int) -> None:
    """Test any n, in any order of blocks and threads."""
    check(extension, name, n)


@ALL
@pytest.mark.parametrize("n", [1, 256, 257, 32 * 256, 32 * 256 + 1])
def test_the_grid_stays(extension: CudaExtension, name: str, n: int) -> None:
    """The grids stay as they are: do not use fewer blocks to stop them interfering."""
    launch = launched(extension, name, n)
    blocks = (n + THREADS - 1) // THREADS
    blocks = min(blocks, MOST_BLOCKS) if name == "sum" else blocks
    assert (THREADS, 1, 1) == launch.block, "expected blocks of 256 threads along x"
    assert (blocks, 1, 1) == launch.grid, (
        f"n = {n}: expected {blocks} blocks, your code launches {launch.grid}"
    )


@pytest.mark.parametrize(("name", "extra"), [("smooth", 2), ("scan", 0), ("sum", 0)])
def test_global_memory_is_read_once(extension: CudaExtension, name: str, extra: int) -> None:
    """Threads get each other's elements from shared memory, not by loads of their own."""
    launch = launched(extension, name)
    loads, most = launch.count("global", "read").accesses, FULL + extra * FULL // THREADS
    assert loads <= most, (
        f"{loads} loads from global memory, {most} would do for {FULL} elements\n{launch.table()}"
    )


@pytest.mark.parametrize(("name", "most"), [("smooth", 1), ("scan", 17), ("sum", 9)])
def test_there_are_no_more_barriers_than_needed(
    extension: CudaExtension, name: str, most: int
) -> None:
    """A barrier after every line is no fix for a missing barrier."""
    launch = launched(extension, name)
    found = launch.barriers / launch.grid[0]
    assert found <= most, f"{name}: {found:g} barriers per block, {most} would do"


@pytest.mark.parametrize(("name", "most"), [("smooth", 3), ("scan", 20), ("sum", 3)])
def test_threads_work_together_in_shared_memory(
    extension: CudaExtension, name: str, most: int
) -> None:
    """Each thread does its part of the work; no thread does the others' part."""
    launch = launched(extension, name)
    loads, moved = launch.count("shared", "read"), launch.count("shared")
    table = launch.table()
    assert moved.accesses > 0, f"{name}: your kernel no longer uses shared memory\n{table}"
    assert loads.accesses <= most * launch.threads, (
        f"{name}: {loads.accesses / launch.threads:.1f} shared loads per thread,"
        f" {most} would do\n{table}"
    )
    assert moved.accesses >= 16 * moved.requests, (
        f"{name}: {moved.accesses / moved.requests:.1f} lanes of a warp take part in a load or"
        f" store of shared memory, on average; expected at least 16\n{table}"
    )


def test_a_block_adds_to_the_total_once(extension: CudaExtension) -> None:
    """A block uses an atomic operation only for its total, and nowhere before."""
    launch = launched(extension, "sum")
    inside = launch.count("shared", "atomic").accesses
    assert 0 == inside, (
        f"{inside} atomics on shared memory, expected none: halve the number of active threads in"
        f" each step, and synchronize between steps\n{launch.table()}"
    )
    found = launch.count("global", "atomic").accesses
    assert found <= launch.grid[0], (
        f"{found} atomics on global memory for {launch.grid[0]} blocks, expected at most one"
        f" each\n{launch.table()}"
    )


@ALL
def test_all_of_it_is_on_the_stream_of_the_caller(extension: CudaExtension, name: str) -> None:
    """In `with torch.cuda.stream(s)` the launch goes to s, not to the default stream."""
    with extension.simulated(stream=11):
        check(extension, name, 300)


@pytest.mark.given
@ALL
def test_a_launch_that_fails_is_reported(extension: CudaExtension, name: str) -> None:
    """A launch does not raise; return the error that cudaGetLastError() reports."""
    with extension.refused():
        check(extension, name, 300)
