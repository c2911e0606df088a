"""Tests of k27_registers: each thread keeps 4 x 4 sums, and reads half a number per product."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from katas import source
from plugins.kit import forbids_doubles


if TYPE_CHECKING:
    from plugins.kit import CudaExtension
    from plugins.kit import Launch
    from plugins.kit import Ptx


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

WHOLE = [(64, 32, 64), (128, 16, 64)]


def check(extension: CudaExtension, m: int, k: int, n: int, device: str = "cpu") -> None:
    """Compare one call with a @ b: odd numbers, so none is 0, and all sums are exact."""
    a = 2 * torch.randint(-4, 5, (m, k), dtype=torch.float32) + 1
    b = 2 * torch.randint(-4, 5, (k, n), dtype=torch.float32) + 1
    expected = (a.double() @ b.double()).float()
    found = extension.op("matmul")(a.to(device), b.to(device)).cpu()
    wrong = (expected != found).nonzero().tolist()
    if wrong:
        i, j = wrong[0]
        raise AssertionError(
            f"{m} x {k} by {k} x {n}: {len(wrong)} of {expected.numel()} elements are wrong, the"
            f" first is out[{i}][{j}]: yours {found[i, j].item()}, expected {expected[i, j].item()}"
        )


def launched(extension: CudaExtension, m: int, k: int, n: int) -> Launch:
    """Return the one launch that multiplies m x k by k x n."""
    check(extension, m, k, n)
    (launch,) = extension.launches()
    return launch


def test_one_step(extension: CudaExtension, device: str) -> None:
    """One tile of out and one step along k take 16 products for each of 4 x 4 sums."""
    check(extension, 64, 16, 64, device)


def test_steps_add_up(extension: CudaExtension, device: str) -> None:
    """Sums stay in registers; a tile is refilled once all threads have used it."""
    check(extension, 64, 80, 64, device)


@pytest.mark.parametrize(
    ("m", "k", "n"), [(1, 1, 1), (65, 17, 63), (33, 15, 130), (3, 0, 5)], ids=str
)
def test_edges(extension: CudaExtension, device: str, m: int, k: int, n: int) -> None:
    """Elements beyond an edge are 0 in both tiles, and add nothing."""
    check(extension, m, k, n, device)


@settings(max_examples=10)
@given(m=st.integers(1, 70), k=st.integers(0, 40), n=st.integers(1, 70))
def test_any_sizes(extension: CudaExtension, m: int, k: int, n: int) -> None:
    """Test any m, k and n, in any order of blocks and threads."""
    check(extension, m, k, n)


def test_infinities_stay_in_their_row(extension: CudaExtension, device: str) -> None:
    """No product is left out, and none uses the padding."""
    a, b = torch.ones(20, 19, device=device), torch.ones(19, 21, device=device)
    a[3, -1] = inf
    expected = a @ b
    found = extension.op("matmul")(a, b)
    assert torch.equal(expected, found), (
        f"row 3 must be infinite, your first rows begin with {found[:5, 0].tolist()}"
    )


@pytest.mark.parametrize(("m", "k", "n"), WHOLE)
def test_half_a_number_is_read_per_product(
    extension: CudaExtension, m: int, k: int, n: int
) -> None:
    """8 loads from shared memory serve 16 products: a number in a register is used 4 times."""
    launch = launched(extension, m, k, n)
    reads, products = launch.count("shared", "read").accesses, m * k * n
    assert 2 * reads <= products, (
        f"{reads / products:.2f} loads from shared memory per product, 0.5 would do: how often do"
        f" you read tile_a[ty][p]?\n{launch.table()}"
    )


@pytest.mark.parametrize(("m", "k", "n"), WHOLE)
def test_each_number_of_global_memory_serves_64_threads(
    extension: CudaExtension, m: int, k: int, n: int
) -> None:
    """Each step loads its tiles once, and nothing else; each sum is stored once."""
    launch = launched(extension, m, k, n)
    loads = launch.count("global", "read").accesses
    stores = launch.count("global", "write", "atomic").accesses
    assert loads <= 2 * m * n * k // 64, (
        f"{loads} loads of global memory, {2 * m * n * k // 64} would do\n{launch.table()}"
    )
    assert m * n == stores, f"{stores} stores for {m * n} elements\n{launch.table()}"
    assert 0 == launch.count("shared").conflicts, f"expected no bank conflicts\n{launch.table()}"


def test_nothing_is_in_float64(extension: CudaExtension) -> None:
    """The source has no double, and no literal without an f in float arithmetic."""
    check(extension, 20, 20, 20)
    forbids_doubles(source("katas.lecture09", "csrc/k27_registers.cu"))


@pytest.mark.backend("nvcc")
def test_nvcc_keeps_all_sums_in_registers(extension: CudaExtension, ptx: Ptx) -> None:
    """Compiled for a GPU: fused multiply-adds, and no array in local memory."""
    check(extension, 20, 20, 20)
    assert ptx.count("fma.rn.f32") >= 16, f"fewer than 16 fma.rn.f32:\n{ptx.table()}"
    assert 0 == ptx.count("ld.local*", "st.local*"), (
        f"your kernel uses local memory:\n{ptx.table()}"
    )
