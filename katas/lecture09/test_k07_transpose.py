"""Tests of k07_transpose: a tile of shared memory without bank conflicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st


if TYPE_CHECKING:
    from plugins.kit import CudaExtension
    from plugins.kit import Launch
    from plugins.kit import Ptx


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

ALIGNED = [(256, 256), (64, 320), (200, 136)]
UNALIGNED = [(257, 129), (127, 125)]


def check(extension: CudaExtension, n: int, m: int, device: str = "cpu") -> None:
    """Compare one call with x.t(); every element of x is a different number."""
    x = torch.arange(n * m, dtype=torch.float32, device=device).reshape(n, m)
    actual = extension.op("transpose")(x)
    assert (m, n) == tuple(actual.shape), f"expected {(m, n)}, yours is {tuple(actual.shape)}"
    wrong = (x.t() != actual).nonzero().tolist()
    if wrong:
        j, i = wrong[0]
        origin, column = divmod(int(actual[j, i].item()), m)
        raise AssertionError(
            f"{len(wrong)} of {n * m} elements are wrong, the first is out[{j}][{i}]: it must be"
            f" x[{i}][{j}], but holds x[{origin}][{column}]"
        )


def launched(extension: CudaExtension, n: int, m: int) -> Launch:
    """Return the one launch that transposes an n x m matrix."""
    check(extension, n, m)
    launches = extension.launches()
    assert 1 == len(launches), f"expected one launch, found {len(launches)}"
    return launches[0]


def test_one_element(extension: CudaExtension, device: str) -> None:
    """With one element, all other threads touch nothing, and still reach the barrier."""
    check(extension, 1, 1, device)


def test_a_square_of_32(extension: CudaExtension, device: str) -> None:
    """All warps are whole: nothing is beyond an edge."""
    check(extension, 32, 32, device)


@pytest.mark.parametrize(("n", "m"), [(64, 64), (128, 128)])
def test_tiles_change_places_too(extension: CudaExtension, device: str, n: int, m: int) -> None:
    """A tile at the upper right moves to the lower left, and is also transposed itself."""
    check(extension, n, m, device)


@pytest.mark.parametrize(("n", "m"), [(32, 96), (160, 64)])
def test_rows_of_the_result_are_n_long(
    extension: CudaExtension, device: str, n: int, m: int
) -> None:
    """Here n is not m: out[j][i] is element j n + i of out, x[i][j] is element i m + j of x."""
    check(extension, n, m, device)


@pytest.mark.parametrize(
    ("n", "m"), [(31, 33), (33, 31), (1, 32), (33, 1), (1, 1025), (1023, 1), (65, 257), (255, 30)]
)
def test_edges(extension: CudaExtension, device: str, n: int, m: int) -> None:
    """At sizes around a tile, the last tiles are partial, on the right in x, below in out."""
    check(extension, n, m, device)


def test_bits_are_moved(extension: CudaExtension, device: str) -> None:
    """Negative zero, infinities, subnormal numbers and NaN with a payload are copied unchanged."""
    words = [-(1 << 31), 1, 0x7F800000, -(1 << 23), 0x7FC01234, 0x7FC00000, 0x3F800000, 0x80, 0]
    x = torch.tensor(words * 5, dtype=torch.int32, device=device).reshape(3, 15)
    actual = extension.op("transpose")(x.view(torch.float32)).view(torch.int32)
    assert x.t().tolist() == actual.tolist(), "your bits differ from those of x"


@settings(max_examples=25)
@given(n=st.integers(1, 100), m=st.integers(1, 100))
def test_any_shape(extension: CudaExtension, n: int, m: int) -> None:
    """Test any n and m, in any order of blocks and threads."""
    check(extension, n, m)


@pytest.mark.parametrize(("n", "m"), ALIGNED)
def test_each_element_is_loaded_and_stored_once(extension: CudaExtension, n: int, m: int) -> None:
    """There are n m loads and n m stores of global memory, or fewer with vector types."""
    launch = launched(extension, n, m)
    for kind in ("read", "write"):
        found = launch.count("global", kind).accesses
        assert n * m >= found, (
            f"{found} accesses of kind {kind!r} for {n * m} elements\n{launch.table()}"
        )


@pytest.mark.parametrize(("n", "m"), ALIGNED)
@pytest.mark.parametrize("kind", ["read", "write"])
def test_each_sector_is_touched_once(extension: CudaExtension, kind: str, n: int, m: int) -> None:
    """There are n m / 8 sectors, 4 per request of 32 lanes: a warp reads and writes along rows."""
    launch = launched(extension, n, m)
    sectors = launch.count("global", kind).sectors
    verb, matrix = {"read": ("read", "x"), "write": ("written", "out")}[kind]
    assert n * m // 8 >= sectors, (
        f"{sectors} sectors are {verb}, {n * m // 8} hold all of {matrix}: the lanes of a warp must"
        f" touch neighbours in a row of {matrix}\n{launch.table()}"
    )


@pytest.mark.parametrize(("n", "m"), UNALIGNED)
@pytest.mark.parametrize("kind", ["read", "write"])
def test_odd_sizes_are_no_slower_way(extension: CudaExtension, kind: str, n: int, m: int) -> None:
    """If rows begin inside a sector, up to twice as many sectors as hold the matrix are touched."""
    launch = launched(extension, n, m)
    sectors = launch.count("global", kind).sectors
    assert n * m // 4 >= sectors, (
        f"{sectors} sectors for {kind}, expected at most {n * m // 4}\n{launch.table()}"
    )


@pytest.mark.parametrize(("n", "m"), [*ALIGNED, *UNALIGNED])
def test_no_bank_is_asked_twice(extension: CudaExtension, n: int, m: int) -> None:
    """There are no bank conflicts, neither where the tile is filled nor where it is read."""
    launch = launched(extension, n, m)
    shared = launch.count("shared")
    assert 0 == shared.conflicts, (
        f"{shared.wavefronts} wavefronts for {shared.requests} requests: in a tile of 32 words per"
        f" row a column is in one bank. Where must element (r, c) be?\n{launch.table()}"
    )


@pytest.mark.backend("nvcc")
def test_nvcc_moves_bits(ptx: Ptx) -> None:
    """Compiled for a GPU: loads and stores, no arithmetic on floats, no local memory."""
    assert ptx.count("st.shared*"), f"no tile in shared memory:\n{ptx.table()}"
    computing = ("add*.f*", "sub*.f*", "mul*.f*", "fma*.f*", "cvt*.f*")
    assert 0 == ptx.count(*computing), f"expected no arithmetic on floats:\n{ptx.table()}"
    assert 0 == ptx.count("ld.local*", "st.local*"), (
        f"your kernel uses local memory:\n{ptx.table()}"
    )
