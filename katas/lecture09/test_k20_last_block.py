"""Tests of k20_last_block: one launch, one counter, the same bits in any order of the blocks."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas import source
from plugins.kit import unchanged


if TYPE_CHECKING:
    from plugins.kit import CudaExtension
    from plugins.kit import Ptx


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

THREADS = 64
MOST_BLOCKS = 150
GRID = MOST_BLOCKS * THREADS
ORDERS = ["forwards", "backwards", "shuffled"]
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# The statement that counts, from its atomic operation on, and device-wide fences.
COUNT = re.compile(r"(\batomic[A-Z]\w*\s*\([^;]*|\.fetch_\w+\s*\([^;]*)")
FENCE = re.compile(r"\b(?:__threadfence(?:_system)?|atomic_thread_fence)\s*\(")
# cuda::atomic_ref in an order that publishes and acquires, which is also the default.
IS_BOTH = re.compile(r"acq_rel|seq_cst|^\.fetch_\w+\s*\([^,()]*\)")


def counter(device: str = "cpu") -> torch.Tensor:
    """Return a counter as a caller creates it, once for many calls."""
    return torch.zeros((), dtype=torch.int32, device=device)


def summed(extension: CudaExtension, x: torch.Tensor, arrived: torch.Tensor) -> float:
    """Return one sum, and check what the call leaves behind."""
    __tracebackhide__ = True
    with unchanged(x=x):
        yours: float = extension.op("grid_sum")(x, arrived).item()
    left = arrived.item()
    assert left == 0, (
        f"n = {x.numel()}: your kernel leaves the counter at {left}, expected 0, or the next launch"
        " finds its last block too early or not at all"
    )
    return yours


def check(extension: CudaExtension, n: int, device: str = "cpu") -> None:
    """Compare two sums of n small integers, which are exact in any order, with one counter."""
    __tracebackhide__ = True
    arrived = counter(device)
    for call in ("first", "second"):
        x = torch.randint(-8, 9, (n,), dtype=torch.float32, device=device)
        right = x.sum().item()
        yours = summed(extension, x, arrived)
        assert yours == right, (
            f"n = {n}, {call} call with this counter: yours is {yours}, expected {right}, as"
            " x.sum() is: which blocks did the last one leave out?"
        )


@pytest.mark.parametrize("n", [1, 63, 64])
def test_one_block(extension: CudaExtension, device: str, n: int) -> None:
    """A single block is the last one, and threads without an element add 0."""
    check(extension, n, device)


@pytest.mark.parametrize("n", [65, 128, 1000])
def test_several_blocks(extension: CudaExtension, device: str, n: int) -> None:
    """The last block to arrive finds the sums of all others."""
    check(extension, n, device)


@pytest.mark.parametrize("n", [GRID - 70, GRID, 2 * GRID + 5])
def test_more_blocks_than_threads(extension: CudaExtension, device: str, n: int) -> None:
    """For 150 sums and 64 threads, each thread of the last block adds two or three."""
    check(extension, n, device)


def test_no_elements(extension: CudaExtension, device: str) -> None:
    """Without elements one block runs, and the sum is 0."""
    check(extension, 0, device)


@pytest.mark.parametrize("order", ORDERS)
def test_any_block_may_be_last(extension: CudaExtension, order: str) -> None:
    """The counter says which block is the last to arrive; blockIdx does not."""
    with extension.simulated(order=order):
        check(extension, 10 * THREADS)


@given(n=st.integers(0, 2000))
def test_any_number_of_elements(extension: CudaExtension, n: int) -> None:
    """Test any number of blocks, with the last block full or not."""
    check(extension, n)


def test_the_bits_do_not_depend_on_the_order(extension: CudaExtension) -> None:
    """The last block adds in the order of partial, whichever block it is."""
    # The terms cancel, so that a large sum does not hide what an addition loses.
    x, arrived = torch.randn(GRID), counter()
    found = []
    for order in [*ORDERS, "shuffled", "shuffled"]:
        with extension.simulated(order=order):
            found.append(summed(extension, x, arrived).hex())
    assert len(set(found)) == 1, (
        f"5 orders of blocks: yours is {found}, expected the same bits: do blocks add in the order"
        " in which they arrive, as with atomicAdd on a float?"
    )
    right = x.double().sum().item()
    assert math.isclose(float.fromhex(found[0]), right, rel_tol=0, abs_tol=1e-3), (
        f"yours is {float.fromhex(found[0])}, expected {right} but for rounding, as in float64"
    )


def test_one_launch_that_counts_each_block(extension: CudaExtension) -> None:
    """Each block makes one atomic operation, and each element is loaded once."""
    x = torch.randn(GRID)
    summed(extension, x, counter())
    launches = extension.launches()
    assert len(launches) == 1, f"your code launches {len(launches)} kernels, expected 1"
    launch = launches[0]
    atomics = launch.count("global", "atomic").accesses
    assert MOST_BLOCKS <= atomics <= MOST_BLOCKS + 1, (
        f"{MOST_BLOCKS} blocks: your kernel has {atomics} atomics, expected one for each block"
        f" to count it, and at most one more to reset the counter\n{launch.table()}"
    )
    written = launch.count("global", "write").accesses
    assert written <= MOST_BLOCKS + 2, (
        f"{MOST_BLOCKS} blocks: your kernel has {written} stores, expected at most one per block,"
        f" one for the sum and one for the counter\n{launch.table()}"
    )
    loads = launch.count("global", "read").accesses
    assert loads == GRID + MOST_BLOCKS, (
        f"your kernel has {loads} loads, expected {GRID} of x and {MOST_BLOCKS} of partial, each"
        f" element once\n{launch.table()}"
    )


def test_a_fence_on_either_side_of_the_count(extension: CudaExtension) -> None:
    """The source has two fences; the simulator runs in order, and does not need the second."""
    check(extension, 200)
    text = source("katas.lecture09", "csrc/k20_last_block.cu").read_text("utf-8")
    before, count, after = [*COUNT.split(COMMENT.sub(" ", text), maxsplit=1), "", ""][:3]
    missing = [
        where for where, part in (("before", before), ("after", after)) if not FENCE.search(part)
    ]
    published = not missing or IS_BOTH.search(count) is not None
    assert published, (
        f"your source has no fence {' or '.join(missing)} the count, expected one on either side,"
        " or an atomic operation that is both: the second keeps partial from being read before the"
        " count"
    )


@pytest.mark.backend("nvcc")
def test_nvcc_makes_two_fences(ptx: Ptx) -> None:
    """Compiled for a GPU, one fence is before the count and one after it, as in PyTorch."""
    fences = ptx.count("membar.gl", "membar.sys", "fence.*") + 2 * ptx.count("atom.*acq_rel*")
    assert fences >= 2, (
        f"your kernel has {fences} device-wide fences, expected 2, or an atomic operation that is"
        " both: the first publishes partial, the second keeps reads from coming before the count"
        f"\n{ptx.table()}"
    )
