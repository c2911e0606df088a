"""Tests of k13_tails: each bug has its test; more tests check that the structure stays."""

from __future__ import annotations

import math
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
WARPS = THREADS // 32
A = 2.5
# Where a slice x[start:] begins; a float4 is 4 elements of 4 bytes.
OFF, ON = [1, 2, 3, 5], [0, 4, 8]


def differences(x: torch.Tensor) -> torch.Tensor:
    """Return each element less the one before it."""
    return x[1:] - x[:-1]


def row_sum(x: torch.Tensor) -> torch.Tensor:
    """Return the sum of each row."""
    return x.sum(1, dtype=torch.int32)


def compare(name: str, actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Compare element by element; all of them are exact, and NaN equals NaN."""
    assert expected.shape == actual.shape, f"{name}: the shape is {tuple(actual.shape)}"
    other = (expected != actual) & ~(expected.isnan() & actual.isnan())
    wrong = other.nonzero().flatten().tolist()
    assert [] == wrong, (
        f"{name}: {len(wrong)} of {expected.numel()} elements are wrong, the first is number"
        f" {wrong[0]}: {actual[wrong[0]].item()}, expected {expected[wrong[0]].item()}"
    )


def check_scale(extension: CudaExtension, n: int, device: str = "cpu", start: int = 0) -> None:
    """Scale n elements of a tensor, after `start` other elements; the last one is infinite."""
    x = torch.randn(start + n, device=device)[start:]
    x[-1:] = math.inf
    for a in (A, 0.0, -A):
        compare(f"scale by {a:g}", extension.op("scale")(x, a), a * x)


def check_row_sum(extension: CudaExtension, rows: int, n: int, device: str = "cpu") -> None:
    """Add up rows, in three orders of threads; one call has all signs reversed."""
    drawn = torch.randint(1, 300_000, (rows, n), dtype=torch.int32, device=device)
    for x in (drawn, -drawn, drawn):
        compare("row_sum", extension.op("row_sum")(x), row_sum(x))


def check_differences(extension: CudaExtension, n: int, device: str = "cpu") -> None:
    """Subtract neighbours, no two of which are equal; they rise, and fall once."""
    rising = torch.randint(1, 300_000, (n,), dtype=torch.int32, device=device).cumsum(
        0, dtype=torch.int32
    )
    for x in (rising, -rising, rising):
        compare("differences", extension.op("differences")(x), differences(x))


def one_launch(extension: CudaExtension) -> Launch:
    """Return the only launch of the last call."""
    launches = extension.launches()
    names = [launch.kernel for launch in launches]
    assert 1 == len(launches), f"expected one launch, found {len(launches)}: {names}"
    assert (THREADS, 1, 1) == launches[0].block, "expected blocks of 256 threads along x"
    return launches[0]


@pytest.mark.parametrize("n", [4, 400, 1020, 1028, 2044, 5000])
def test_the_grid_reaches_the_last_vector(extension: CudaExtension, device: str, n: int) -> None:
    """Scale: all vectors are whole, but the last block of them is not full."""
    check_scale(extension, n, device)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 1023, 1025, 1027, 2047, 4098])
def test_what_makes_no_vector_is_scaled_too(extension: CudaExtension, device: str, n: int) -> None:
    """Scale: up to 3 elements follow the last whole vector, and nothing after them is touched."""
    check_scale(extension, n, device)


@pytest.mark.parametrize("start", OFF)
@pytest.mark.parametrize("n", [1024, 2048, 999, 3])
def test_a_tensor_may_begin_between_vectors(
    extension: CudaExtension, device: str, n: int, start: int
) -> None:
    """Scale: where no float4 can be loaded, load single elements."""
    check_scale(extension, n, device, start)


@pytest.mark.parametrize("n", [256, 300, 512, 1000])
def test_warps_are_added_up_by_lanes_that_the_mask_names(
    extension: CudaExtension, device: str, n: int
) -> None:
    """Row sum: 8 warps have 8 parts; no lane reads from a lane that does not take part."""
    check_row_sum(extension, 2, n, device)


@pytest.mark.parametrize("n", [1, 5, 31, 33, 100, 255])
def test_lanes_without_an_element_come_to_the_shuffle(
    extension: CudaExtension, device: str, n: int
) -> None:
    """Row sum: the mask names all 32 lanes, so all of them must reach the shuffle."""
    check_row_sum(extension, 3, n, device)


def test_nothing_to_add_or_to_write(extension: CudaExtension, device: str) -> None:
    """An empty row has the sum 0; with nothing to write, nothing is launched."""
    check_row_sum(extension, 2, 0, device)
    for name, shape in (("scale", (0,)), ("row_sum", (0, 5)), ("differences", (1,))):
        dtype = torch.float32 if name == "scale" else torch.int32
        x = torch.ones(shape, dtype=dtype, device=device)
        found = extension.op(name)(*((x, A) if name == "scale" else (x,)))
        assert (0,) == tuple(found.shape), (
            f"{name}: expected shape (0,), yours is {tuple(found.shape)}"
        )
        if device == "cpu":
            names = [launch.kernel for launch in extension.launches()]
            assert [] == names, f"{name}: there is nothing to write, but your code launches {names}"


@pytest.mark.parametrize("n", [33, 65, 257, 1025])
def test_the_last_lane_of_a_warp_has_a_neighbour(
    extension: CudaExtension, device: str, n: int
) -> None:
    """Differences: the last lane needs an element of another warp, which no shuffle reaches."""
    check_differences(extension, n, device)


@pytest.mark.parametrize("n", [2, 3, 31, 32, 100, 255, 256, 1000])
def test_the_last_element_is_handed_on(extension: CudaExtension, device: str, n: int) -> None:
    """Differences: the thread of the last element stores nothing, but others need its element."""
    check_differences(extension, n, device)


@given(n=st.integers(1, 3000), start=st.integers(0, 9))
def test_scale_any_number_of_elements(extension: CudaExtension, n: int, start: int) -> None:
    """Test any n, beginning anywhere, in any order of blocks and threads."""
    check_scale(extension, n, start=start)


@given(rows=st.integers(1, 3), n=st.integers(0, 1200))
def test_add_up_any_matrix(extension: CudaExtension, rows: int, n: int) -> None:
    """Test any rows and n, in any order of blocks and threads."""
    check_row_sum(extension, rows, n)


@given(n=st.integers(2, 1200))
def test_differences_of_any_number_of_elements(extension: CudaExtension, n: int) -> None:
    """Test any n, in any order of blocks and threads."""
    check_differences(extension, n)


@pytest.mark.parametrize("start", ON)
def test_scale_loads_four_at_a_time(extension: CudaExtension, start: int) -> None:
    """Load only elements in no vector one by one; alignment depends on the address."""
    for n in (1, 1021, 1024, 1025, 5000):
        check_scale(extension, n, start=start)
        launch, most = one_launch(extension), n // 4 + 3
        for kind in ("read", "write"):
            found = launch.count("global", kind)
            assert found.accesses <= most, (
                f"n = {n}: {found.accesses} accesses of the kind {kind!r}, {most} would"
                f" do\n{launch.table()}"
            )
            assert 6 * (found.sectors - 4) <= n, (
                f"n = {n}: {found.sectors} sectors, {n / 6 + 4:g} would do\n{launch.table()}"
            )
        blocks = launch.grid[0]
        assert blocks <= (n + 1023) // 1024, (
            f"n = {n}: {blocks} blocks for {n // 4} vectors are too many"
        )
        assert launch.threads >= n // 4, (
            f"n = {n}: {launch.threads} threads for {n // 4} vectors are too few"
        )


@pytest.mark.parametrize("start", OFF)
def test_scale_is_still_shared_by_threads(extension: CudaExtension, start: int) -> None:
    """A misaligned tensor has a thread for each element, and no element is loaded twice."""
    n = 2050
    check_scale(extension, n, start=start)
    launch = one_launch(extension)
    for kind in ("read", "write"):
        found = launch.count("global", kind).accesses
        assert found <= n, (
            f"{found} accesses of the kind {kind!r} for {n} elements\n{launch.table()}"
        )
        sectors = launch.count("global", kind).sectors
        assert 4 * sectors <= 3 * n, (
            f"{sectors} sectors of the kind {kind!r} for {n} elements, {3 * n // 4} would do: give"
            " each element that is in no vector a thread of its own, so that neighbours share a"
            f" sector\n{launch.table()}"
        )
    assert 4 * launch.threads >= n, (
        f"{launch.threads} threads for {n} elements that are in no vector: give each a thread of"
        " its own"
    )


@pytest.mark.parametrize("n", [24, 256, 1000])
def test_row_sum_keeps_to_shuffles(extension: CudaExtension, n: int) -> None:
    """Warps sum in registers; shared memory holds one number from each warp."""
    rows = 3
    check_row_sum(extension, rows, n)
    launch = one_launch(extension)
    table = launch.table()
    assert (rows, 1, 1) == launch.grid, f"expected a block for each of {rows} rows"
    loads = launch.count("global", "read")
    assert loads.accesses <= rows * n, (
        f"{loads.accesses} loads for {rows * n} elements, expected one each\n{table}"
    )
    assert 8 * loads.sectors <= rows * n, (
        f"{loads.sectors} sectors for {rows * n} elements\n{table}"
    )
    assert 0 == launch.count("global", "atomic").accesses, table
    assert 0 == launch.count("shared", "atomic").accesses, table
    shared = launch.count("shared").accesses / rows
    assert shared <= 80, (
        f"{shared:g} accesses to shared memory per block, expected at most 80\n{table}"
    )
    assert launch.warp_operations <= 56 * rows, (
        f"{launch.warp_operations / rows:g} shuffles and votes per block, 56 would do"
    )
    assert launch.barriers <= 2 * rows, (
        f"{launch.barriers / rows:g} barriers per block, expected at most 2"
    )
    if n >= THREADS:
        assert launch.warp_operations >= WARPS * rows, "expected a shuffle or vote in each warp"
        parts = launch.count("shared", "write").accesses / rows
        assert parts >= WARPS, f"{parts:g} parts go through shared memory, expected {WARPS}"


@pytest.mark.parametrize("n", [64, 257, 1500])
def test_differences_keep_to_shuffles(extension: CudaExtension, n: int) -> None:
    """A shuffle gets a neighbour's element: each is loaded once, except for one per warp."""
    check_differences(extension, n)
    launch, warps = one_launch(extension), (n + 31) // 32
    table = launch.table()
    grids = {(n - 1 + THREADS - 1) // THREADS, (n + THREADS - 1) // THREADS}
    assert launch.grid[0] in grids, f"n = {n}: {launch.grid[0]} blocks, expected {grids}"
    loads = launch.count("global", "read")
    assert loads.accesses <= n + warps, (
        f"{loads.accesses} loads for {n} elements and {warps} warps\n{table}"
    )
    assert loads.sectors <= (n + 7) // 8 + warps, (
        f"{loads.sectors} sectors for {n} elements\n{table}"
    )
    assert 0 == launch.count("shared").accesses, f"your kernel uses shared memory\n{table}"
    found, all_warps = launch.warp_operations, launch.threads // 32
    assert n // 32 <= found <= 2 * all_warps, f"{found} shuffles and votes for {all_warps} warps"
    # The lane index says which lane has no neighbour: a difference of 0 does not.
    extension.op("differences")(torch.ones(n, dtype=torch.int32))
    loads = one_launch(extension).count("global", "read")
    assert loads.accesses <= n + warps, (
        f"{loads.accesses} loads for {n} equal elements and {warps} warps"
    )


@pytest.mark.backend("nvcc")
def test_nvcc_moves_four_floats_at_a_time(extension: CudaExtension, ptx: Ptx) -> None:
    """Compiled for a GPU, scale has a load of 4 floats, a store of 4 floats, and a tail."""
    check_scale(extension, 1025)
    for space in ("ld.global", "st.global"):
        assert ptx.count(f"{space}*.v4*"), f"no {space} of 4 floats:\n{ptx.table()}"
