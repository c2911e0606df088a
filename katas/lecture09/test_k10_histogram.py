"""Tests of k10_histogram: atomics in global memory, then in shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st


if TYPE_CHECKING:
    from plugins.kit import CudaExtension
    from plugins.kit import Launch
    from plugins.kit import Ptx


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

THREADS = 256
MOST_BLOCKS = 32
MOST_SHARED_BINS = 12288
SIZES = [1, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 32 * 256, 32 * 256 + 1, 3 * 32 * 256 - 5]
BOTH = pytest.mark.parametrize("name", ["histogram_global", "histogram"])


def draw(n: int, low: int, high: int, device: str = "cpu") -> torch.Tensor:
    """Return n values from `low` up to `high`, which is excluded."""
    return torch.randint(low, high, (n,), dtype=torch.int32, device=device)


def check(extension: CudaExtension, name: str, values: torch.Tensor, bins: int) -> None:
    """Compare one call with torch.bincount of the values in range."""
    expected = torch.bincount(values[(values >= 0) & (values < bins)], minlength=bins)
    actual = extension.op(name)(values, bins)
    wrong = (expected != actual).nonzero().flatten().tolist()
    assert [] == wrong, (
        f"{len(wrong)} of {bins} counts are wrong, the first is counts[{wrong[0]}]:"
        f" {actual[wrong[0]].item()}, expected {expected[wrong[0]].item()}"
    )


def launched(extension: CudaExtension, name: str, values: torch.Tensor, bins: int) -> Launch:
    """Check one call, and return its only launch."""
    check(extension, name, values, bins)
    launches = extension.launches()
    names = [launch.kernel for launch in launches]
    assert 1 == len(launches), f"expected one launch, found {len(launches)}: {names}"
    return launches[0]


@BOTH
def test_a_few_values(extension: CudaExtension, device: str, name: str) -> None:
    """Two values of four are the same, and two threads count them; three bins stay empty."""
    values = torch.tensor([2, 0, 2, 5], dtype=torch.int32, device=device)
    check(extension, name, values, 6)


@BOTH
def test_values_out_of_range_are_counted_nowhere(
    extension: CudaExtension, device: str, name: str
) -> None:
    """Values out of range count neither in the first bin nor in the last, nor next to them."""
    lowest, highest = torch.iinfo(torch.int32).min, torch.iinfo(torch.int32).max
    values = [-1, 0, 3, 4, 5, lowest, highest]
    check(extension, name, torch.tensor(values, dtype=torch.int32, device=device), 4)
    check(extension, name, torch.tensor([-1, 4], dtype=torch.int32, device=device), 4)


@BOTH
@pytest.mark.parametrize("n", SIZES)
def test_all_threads_count_in_one_bin(
    extension: CudaExtension, device: str, name: str, n: int
) -> None:
    """The same value n times is counted n times."""
    check(extension, name, torch.full((n,), 2, dtype=torch.int32, device=device), 3)


@BOTH
@pytest.mark.parametrize("bins", [1, 31, 33, 255, 256, 257, 1000])
def test_more_and_fewer_bins_than_threads(
    extension: CudaExtension, device: str, name: str, bins: int
) -> None:
    """Every bin is counted, even if there are more bins than threads in a block."""
    check(extension, name, draw(2000, -2, bins + 2, device), bins)


@pytest.mark.parametrize("bins", [MOST_SHARED_BINS, MOST_SHARED_BINS + 1, 20_000])
def test_more_bins_than_shared_memory_holds(
    extension: CudaExtension, device: str, bins: int
) -> None:
    """48 KiB hold 12288 ints; beyond that the counts are in global memory only."""
    check(extension, "histogram", draw(500, 0, bins, device), bins)


@BOTH
@given(n=st.integers(0, 10_000), bins=st.integers(1, 700))
def test_any_values(extension: CudaExtension, name: str, n: int, bins: int) -> None:
    """Test any sizes, in any order of blocks and threads."""
    check(extension, name, draw(n, -1, bins + 1), bins)


@BOTH
def test_each_value_is_read_once(extension: CudaExtension, name: str) -> None:
    """32 neighbouring ints are 4 sectors of 32 bytes, and each is read once."""
    n = 3 * MOST_BLOCKS * THREADS
    launch = launched(extension, name, draw(n, 0, 256), 256)
    read = launch.count("global", "read")
    assert read.sectors <= n // 8, (
        f"{read.sectors} sectors were read, expected at most {n // 8}: which values do threads"
        f" 0 to 31 read at the same time?\n{launch.table()}"
    )


def test_global_counts_take_one_atomic_for_each_value(extension: CudaExtension) -> None:
    """A value in range takes one atomicAdd, a value out of range none."""
    n, bins = 10_000, 64
    values = draw(n, -16, bins + 16)
    inside = int(((values >= 0) & (values < bins)).sum())
    launch = launched(extension, "histogram_global", values, bins)
    found = launch.count("global", "atomic").accesses
    assert inside == found, (
        f"{inside} of {n} values are in range: expected as many atomics,"
        f" found {found}\n{launch.table()}"
    )


@pytest.mark.parametrize("low", [0, 255, -64])
def test_private_counts_take_one_global_atomic_for_each_bin_and_block(
    extension: CudaExtension, low: int
) -> None:
    """Values are counted in shared memory; global memory gets only sums."""
    n, bins = 4 * MOST_BLOCKS * THREADS, 256
    values = draw(n, low, bins if low >= 0 else bins - low)
    counted = int(((values >= 0) & (values < bins)).sum())
    launch = launched(extension, "histogram", values, bins)
    outside, inside = launch.count("global", "atomic"), launch.count("shared", "atomic")
    assert outside.accesses <= bins * MOST_BLOCKS, (
        f"{outside.accesses} atomics on global memory, expected at most"
        f" {bins * MOST_BLOCKS}: {MOST_BLOCKS} blocks add {bins} bins each\n{launch.table()}"
    )
    assert inside.accesses <= counted, (
        f"{inside.accesses} atomics on shared memory, {counted} of {n} values are in range: do"
        f" not count a value out of range, not even as 0\n{launch.table()}"
    )
    assert launch.barriers <= 2 * MOST_BLOCKS, (
        f"{launch.barriers / MOST_BLOCKS:g} barriers per block: there are three phases, so two"
        " barriers between them are enough"
    )


def test_the_threads_of_a_block_share_its_bins(extension: CudaExtension) -> None:
    """All threads of a block clear and add up its bins; neighbours take neighbouring bins."""
    # A warp's threads get neighbouring bins; either all of those bins are empty, or none is.
    bins, number = 2 * THREADS, torch.arange(2 * MOST_BLOCKS * THREADS, dtype=torch.int32)
    values = number % THREADS + THREADS * (number // (MOST_BLOCKS * THREADS))
    launch = launched(extension, "histogram", values, bins)
    stored, added = launch.count("shared", "write"), launch.count("global", "atomic")
    assert stored.wavefronts <= MOST_BLOCKS * bins // 32, (
        f"setting {bins} bins to 0 took {stored.wavefronts / MOST_BLOCKS:g} wavefronts per block,"
        f" {bins // 32} would do\n{launch.table()}"
    )
    assert added.sectors <= MOST_BLOCKS * bins // 8, (
        f"adding {bins} bins to counts touched {added.sectors / MOST_BLOCKS:g} sectors per block,"
        f" {bins // 8} would do\n{launch.table()}"
    )


@BOTH
@pytest.mark.parametrize("grid", [1, 3])
def test_the_kernel_is_right_for_any_grid(extension: CudaExtension, name: str, grid: int) -> None:
    """A grid-stride loop counts all values, however few blocks there are."""
    with extension.simulated(grid=grid):
        check(extension, name, draw(2000, -2, 20), 18)


@pytest.mark.backend("nvcc")
def test_nvcc_makes_instructions_of_atomics(ptx: Ptx) -> None:
    """Compiled for a GPU: atomic additions on shared and on global memory, no loops."""
    for space in ("shared", "global"):
        added = ptx.count(f"atom.{space}*.add*", f"red.{space}*.add*")
        assert added, f"no atomic addition on {space} memory:\n{ptx.table()}"
    assert 0 == ptx.count("atom*.cas*"), (
        f"an atomic operation of yours compiles to a loop:\n{ptx.table()}"
    )
    assert 0 == ptx.count("ld.local*", "st.local*"), (
        f"your kernel uses local memory:\n{ptx.table()}"
    )
