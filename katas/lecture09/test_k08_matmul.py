"""Tests of k08_matmul: tiles of shared memory, loaded once and used many times."""

from __future__ import annotations

from math import inf
from math import nan
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

# The loads are counted for sizes rounded up to it.
ROUND = 32
# How many threads each loaded number must serve.
SERVED = 16
WHOLE = [(64, 64, 64), (32, 96, 64), (96, 32, 128)]
# Along k, m and n one more than whole tiles, or one less; and less than a tile along one.
ODD = [(65, 63, 33), (31, 97, 65), (15, 40, 70), (70, 15, 40), (40, 70, 15)]


def matrices(
    m: int, k: int, n: int, device: str = "cpu"
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return a, b and a @ b: odd numbers, so none is 0, and all sums are exact."""
    a = 2 * torch.randint(-4, 5, (m, k), dtype=torch.float32) + 1
    b = 2 * torch.randint(-4, 5, (k, n), dtype=torch.float32) + 1
    expected = a.double() @ b.double()
    return a.to(device), b.to(device), expected.float().to(device)


def same(expected: torch.Tensor, actual: torch.Tensor) -> None:
    """Compare with NaN equal to NaN, and name the first wrong element."""
    assert expected.shape == actual.shape, (
        f"expected shape {tuple(expected.shape)}, yours is {tuple(actual.shape)}"
    )
    equal = (expected == actual) | (expected.isnan() & actual.isnan())
    wrong = (~equal).nonzero().tolist()
    if wrong:
        i, j = wrong[0]
        raise AssertionError(
            f"{len(wrong)} of {expected.numel()} elements are wrong, the first is out[{i}][{j}]:"
            f" {actual[i, j].item()}, expected {expected[i, j].item()}"
        )


def check(extension: CudaExtension, m: int, k: int, n: int, device: str = "cpu") -> None:
    """Compare one call with a @ b."""
    a, b, expected = matrices(m, k, n, device)
    same(expected, extension.op("matmul")(a, b))


def launched(extension: CudaExtension, m: int, k: int, n: int) -> Launch:
    """Return the one launch that multiplies m x k by k x n."""
    check(extension, m, k, n)
    launches = extension.launches()
    assert 1 == len(launches), f"expected one launch, found {len(launches)}"
    return launches[0]


def test_one_product(extension: CudaExtension, device: str) -> None:
    """With one element in each matrix, the rest of the tiles is 0."""
    check(extension, 1, 1, 1, device)


@pytest.mark.parametrize("k", [16, 32, 160])
def test_a_tile_of_the_result(extension: CudaExtension, device: str, k: int) -> None:
    """For one tile of out, the sum continues from one pair of tiles to the next along k."""
    check(extension, 16, k, 16, device)


@pytest.mark.parametrize(("m", "k", "n"), [(64, 64, 64), (32, 96, 64), (96, 32, 160)])
def test_many_tiles(extension: CudaExtension, device: str, m: int, k: int, n: int) -> None:
    """Each block finds its rows of a and its columns of b, also where m, k and n differ."""
    check(extension, m, k, n, device)


@pytest.mark.parametrize(
    ("m", "k", "n"),
    [
        (16, 17, 16),
        (31, 33, 32),
        (33, 31, 15),
        (1, 257, 1),
        (255, 1, 33),
        (33, 1, 257),
        (1, 1023, 2),
        (1025, 3, 1),
    ],
)
def test_edges(extension: CudaExtension, device: str, m: int, k: int, n: int) -> None:
    """Whatever the sizes, nothing beyond an edge is added."""
    check(extension, m, k, n, device)


def test_nothing_to_sum(extension: CudaExtension, device: str) -> None:
    """If k is 0, all sums are empty, and the kernel stores zeros."""
    check(extension, 35, 0, 20, device)
    if device == "cpu":
        count = len(extension.launches())
        assert 1 == count, f"expected one launch, since out has elements, found {count}"


def test_infinities_do_not_meet_the_padding(extension: CudaExtension, device: str) -> None:
    """0 * inf is NaN, so beyond k both tiles hold 0, not a repeated row or column."""
    a = torch.ones(20, 19, device=device)
    b = torch.ones(19, 21, device=device)
    a[:, -1] = inf
    same(torch.full((20, 21), inf, device=device), extension.op("matmul")(a, b))
    a[:, -1] = 1
    b[-1] = inf
    same(torch.full((20, 21), inf, device=device), extension.op("matmul")(a, b))


def test_nan_stays_in_its_row_and_column(extension: CudaExtension, device: str) -> None:
    """With a NaN in row 18 of a and one in column 3 of b, one row and one column of out are NaN."""
    a = torch.ones(40, 37, device=device)
    b = torch.ones(37, 35, device=device)
    a[18, 36] = nan
    b[36, 3] = nan
    expected = torch.full((40, 35), 37.0, device=device)
    expected[18] = nan
    expected[:, 3] = nan
    same(expected, extension.op("matmul")(a, b))


def test_a_zero_of_the_matrix_meets_infinity(extension: CudaExtension, device: str) -> None:
    """A zero of a or b is not padding: 0 * inf is NaN, whichever matrix holds the zero."""
    a, b = torch.ones(3, 4, device=device), torch.ones(4, 5, device=device)
    a[1, 2], b[2, 3], a[0, 1], b[1, 0] = 0.0, inf, inf, 0.0
    expected = (a[:, :, None] * b[None]).sum(1)
    same(expected, extension.op("matmul")(a, b))


@settings(max_examples=25)
@given(m=st.integers(1, 50), k=st.integers(0, 50), n=st.integers(1, 50))
def test_any_sizes(extension: CudaExtension, m: int, k: int, n: int) -> None:
    """Test any m, k and n, in any order of blocks and threads."""
    check(extension, m, k, n)


def test_numbers_that_round_are_multiplied(extension: CudaExtension, device: str) -> None:
    """Multiply fractions too: apart from float32 rounding, the result is the float64 product."""
    for scale in (1.0, 1e-20):
        a, b = scale * torch.rand(20, 40, device=device), torch.rand(40, 30, device=device)
        expected = a.double() @ b.double()
        error = ((extension.op("matmul")(a, b).double() - expected) / expected).abs().max().item()
        assert error <= 1e-5, (
            f"a product of fractions of {scale:g} differs from float64: the largest relative"
            f" error is {error:.2g}, expected at most 1e-5"
        )


@pytest.mark.parametrize(("m", "k", "n"), [*WHOLE, *ODD])
def test_what_is_loaded_serves_16_threads(extension: CudaExtension, m: int, k: int, n: int) -> None:
    """A product takes at most a sixteenth of the 2 m n k loads that it would take without tiles."""
    launch = launched(extension, m, k, n)
    padded = [-(-size // ROUND) * ROUND for size in (m, k, n)]
    naive = 2 * padded[0] * padded[1] * padded[2]
    loads = launch.count("global", "read").accesses
    assert naive // SERVED >= loads, (
        f"{loads} loads, {naive} without tiles: each number serves {naive / loads:.1f} threads,"
        f" expected {SERVED}\n{launch.table()}"
    )


@pytest.mark.parametrize(("m", "k", "n"), [*WHOLE, *ODD])
def test_each_element_is_stored_once(extension: CudaExtension, m: int, k: int, n: int) -> None:
    """The sum is kept in a register until it is complete."""
    launch = launched(extension, m, k, n)
    stores = launch.count("global", "write", "atomic").accesses
    assert m * n >= stores, f"{stores} stores for {m * n} elements\n{launch.table()}"


@pytest.mark.parametrize(("m", "k", "n"), WHOLE)
def test_a_warp_goes_along_rows(extension: CudaExtension, m: int, k: int, n: int) -> None:
    """Loads touch m n k / 64 sectors, stores m n / 8: 4 for each request of 32 lanes."""
    launch = launched(extension, m, k, n)
    for kind, most in (("read", m * n * k // 64), ("write", m * n // 8)):
        sectors = launch.count("global", kind).sectors
        assert most >= sectors, (
            f"{sectors} sectors for {kind}, {most} would do: which elements do threads with"
            f" neighbouring threadIdx.x touch?\n{launch.table()}"
        )


@pytest.mark.parametrize(("m", "k", "n"), [*WHOLE, *ODD])
def test_no_bank_is_asked_twice(extension: CudaExtension, m: int, k: int, n: int) -> None:
    """There are no bank conflicts, neither where the tiles are filled nor where they are used."""
    launch = launched(extension, m, k, n)
    shared = launch.count("shared")
    assert 0 == shared.conflicts, (
        f"{shared.wavefronts} wavefronts for {shared.requests} requests: which lanes of a warp read"
        f" different words whose distance is a multiple of 32?\n{launch.table()}"
    )


def test_nothing_is_in_float64(extension: CudaExtension) -> None:
    """The source has no double, and no literal without an f in float arithmetic."""
    check(extension, 20, 20, 20)
    forbids_doubles(source("katas.lecture09", "csrc/k08_matmul.cu"))


@pytest.mark.backend("nvcc")
def test_nvcc_makes_one_instruction_of_product_and_sum(ptx: Ptx) -> None:
    """Compiled for a GPU: fused multiply-adds, nothing in float64, nothing in local memory."""
    assert ptx.count("fma.rn.f32"), f"no fma.rn.f32:\n{ptx.table()}"
    assert 0 == ptx.count("mul*.f32"), (
        f"the multiply and the add are separate instructions:\n{ptx.table()}"
    )
    assert 0 == ptx.count("*.f64*"), f"your kernel uses double: is an f missing?\n{ptx.table()}"
    assert 0 == ptx.count("ld.local*", "st.local*"), (
        f"your kernel uses local memory:\n{ptx.table()}"
    )
