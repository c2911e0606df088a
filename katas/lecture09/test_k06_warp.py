"""Tests of k06_warp: running sums by shuffles, one float per warp in shared memory."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas import source


if TYPE_CHECKING:
    from plugins.kit import CudaExtension
    from plugins.kit import Launch
    from plugins.kit import Ptx


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

WARP = 32
MOST_BARRIERS = 2
MOST_STORED = 2
MOST_SHARED = 5
MOST_SHUFFLES = 12


def check(extension: CudaExtension, rows: int, columns: int, device: str = "cpu") -> None:
    """Compare the running sums of small integers, which are exact in any order."""
    x = torch.randint(-8, 9, (rows, columns), dtype=torch.float32, device=device)
    expected = x.cumsum(1)
    actual = extension.op("scan")(x)
    wrong = (expected != actual).nonzero().tolist()
    if wrong:
        row, column = wrong[0]
        raise AssertionError(
            f"{len(wrong)} of {rows} x {columns} running sums are wrong, the first is"
            f" out[{row}][{column}] (warp {column // WARP}, lane {column % WARP}):"
            f" {actual[row, column].item()}, expected {expected[row, column].item()}"
        )


def launched(extension: CudaExtension, rows: int, columns: int) -> tuple[Launch, int]:
    """Return what the kernel did, and the number of its warps."""
    check(extension, rows, columns)
    launches = extension.launches()
    assert 1 == len(launches), f"expected one launch, found {len(launches)}"
    return launches[0], rows * -(-columns // WARP)


def test_one_column(extension: CudaExtension, device: str) -> None:
    """One element is its own sum; the other 31 lanes of the warp have none."""
    check(extension, 1, 1, device)


@pytest.mark.parametrize("columns", [2, 3, 16, 31, 32])
def test_one_warp(extension: CudaExtension, device: str, columns: int) -> None:
    """At most 32 columns: shuffles alone, in a warp that is full or not."""
    check(extension, 1, columns, device)


@pytest.mark.parametrize("columns", [33, 63, 64, 65, 255, 256, 257])
def test_a_warp_adds_what_the_warps_before_have(
    extension: CudaExtension, device: str, columns: int
) -> None:
    """Several warps, the last of them full or not: totals go through shared memory."""
    check(extension, 1, columns, device)


@pytest.mark.parametrize("columns", [992, 993, 1023, 1024])
def test_the_longest_rows(extension: CudaExtension, device: str, columns: int) -> None:
    """31 and 32 warps: the totals of a row fill a warp of their own, or nearly so."""
    check(extension, 1, columns, device)


@pytest.mark.parametrize(("rows", "columns"), [(3, 1), (5, 32), (4, 100)])
def test_each_row_by_itself(extension: CudaExtension, device: str, rows: int, columns: int) -> None:
    """A row begins where its block says, and with nothing from the row before."""
    check(extension, rows, columns, device)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_no_elements(extension: CudaExtension, device: str, shape: tuple[int, int]) -> None:
    """No rows or no columns, no launch: a grid or a block of nothing is an error."""
    actual = extension.op("scan")(torch.empty(shape, device=device))
    assert shape == tuple(actual.shape), f"yours has the shape {tuple(actual.shape)}"
    if device == "cpu":
        assert [] == extension.launches(), "there is nothing to launch, not even one idle warp"


@given(rows=st.integers(1, 3), columns=st.integers(1, 1024))
def test_any_matrix(extension: CudaExtension, rows: int, columns: int) -> None:
    """Any number of rows and columns, in any order of blocks, warps and lanes."""
    check(extension, rows, columns)


@pytest.mark.parametrize("column", [0, 7, 31, 32, 99])
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_stands_before_an_infinity_does_not_feel_it(
    extension: CudaExtension, device: str, column: int, value: float
) -> None:
    """Sums before a special value are as without it, sums from there on are what it makes them."""
    x = torch.ones(1, 100, device=device)
    x[0, column] = value
    expected = x.cumsum(1)[0].tolist()
    actual = extension.op("scan")(x)[0].tolist()
    wrong = [i for i in range(100) if repr(expected[i]) != repr(actual[i])]
    assert [] == wrong, (
        f"{value} stands in column {column}; out[0][{wrong[0]}] is {actual[wrong[0]]}, expected"
        f" {expected[wrong[0]]}: is something subtracted again, or multiplied by 0?"
    )


def test_opposite_infinities_are_nan_from_the_second_on(
    extension: CudaExtension, device: str
) -> None:
    """Plus infinity in one warp, minus infinity in the next: infinity between them, then NaN."""
    x = torch.ones(1, 100, device=device)
    x[0, 20], x[0, 50] = math.inf, -math.inf
    actual = extension.op("scan")(x)[0].cpu()
    assert [math.inf] * 30 == actual[20:50].tolist(), "the sums between the two are inf"
    assert actual[50:].isnan().all(), "inf - inf is NaN, and stays so"


@pytest.mark.parametrize("columns", [5, 100])
def test_numbers_that_round_are_added(extension: CudaExtension, device: str, columns: int) -> None:
    """Fractions too: but for what float32 rounds, they are the running sums in float64."""
    for scale in (1.0, 1e-20):
        x = scale * torch.rand(2, columns, device=device)
        torch.testing.assert_close(
            extension.op("scan")(x).double(),
            x.double().cumsum(1),
            rtol=1e-5,
            atol=0.0,
            msg=f"running sums of fractions of {scale:g} are not those of float64: ".__add__,
        )


@pytest.mark.parametrize(
    ("rows", "columns", "threads"), [(1, 1, 32), (2, 32, 32), (3, 33, 64), (1, 1024, 1024)]
)
def test_one_block_of_whole_warps_for_each_row(
    extension: CudaExtension, rows: int, columns: int, threads: int
) -> None:
    """As many blocks as rows; one thread per column, up to the next multiple of 32."""
    launch, _ = launched(extension, rows, columns)
    assert (rows, 1, 1) == launch.grid, f"{rows} rows want as many blocks, found {launch.grid}"
    assert (threads, 1, 1) == launch.block, (
        f"{columns} columns want {threads} threads, found {launch.block}"
    )


def test_neighbouring_threads_read_and_write_each_element_once(extension: CudaExtension) -> None:
    """1024 loads and stores per row, 32 floats of a warp in 4 sectors of 32 bytes."""
    launch, warps = launched(extension, 2, 1024)
    for kind in ("read", "write"):
        count = launch.count("global", kind)
        assert 2 * 1024 == count.accesses, (
            f"2 x 1024 elements, but {count.accesses} of kind {kind!r}\n{launch.table()}"
        )
        assert 4 * warps == count.sectors, (
            f"{count.sectors} sectors of kind {kind!r} for {warps} warps, {4 * warps} would do:"
            f" which elements do the 32 lanes touch at the same time?\n{launch.table()}"
        )


@pytest.mark.parametrize("columns", [320, 1024])
def test_two_barriers(extension: CudaExtension, columns: int) -> None:
    """Lanes need no barrier: one after the totals, one after their sums."""
    launch, _ = launched(extension, 2, columns)
    each = launch.barriers / 2
    assert each <= MOST_BARRIERS, (
        f"{each} barriers per block, at most {MOST_BARRIERS} are allowed: within a warp the"
        f" shuffle itself makes lanes wait for each other\n{launch.table()}"
    )


@pytest.mark.parametrize("columns", [320, 1024])
def test_shared_memory_holds_one_float_per_warp(extension: CudaExtension, columns: int) -> None:
    """The total of a warp, and the sum of totals: at most 2 values per warp are stored."""
    launch, warps = launched(extension, 2, columns)
    stored = launch.count("shared", "write", "atomic").accesses
    assert stored >= warps - 2, (
        f"{stored} values were stored in shared memory by {warps} warps in 2 rows, expected a"
        " total from each but the last of a row: does one warp do the work of all?\n"
        + launch.table()
    )
    assert stored <= MOST_STORED * warps, (
        f"{stored} values were stored in shared memory by {warps} warps, at most"
        f" {MOST_STORED * warps} are allowed: registers are read by shuffles\n{launch.table()}"
    )


@pytest.mark.parametrize("columns", [320, 1024])
def test_few_wavefronts_of_shared_memory(extension: CudaExtension, columns: int) -> None:
    """At most 5 wavefronts per warp: nobody adds up all the totals before it one by one."""
    launch, warps = launched(extension, 2, columns)
    shared = launch.count("shared").wavefronts
    assert shared <= MOST_SHARED * warps, (
        f"{shared} wavefronts of shared memory by {warps} warps, at most {MOST_SHARED * warps} are"
        f" allowed: who adds up the totals, and how often?\n{launch.table()}"
    )


@pytest.mark.parametrize("columns", [320, 1024])
def test_five_shuffles_make_a_warps_sums(extension: CudaExtension, columns: int) -> None:
    """Distances double, so 5 shuffles reach 31 lanes: at most 12 warp operations per warp."""
    launch, warps = launched(extension, 2, columns)
    assert launch.warp_operations <= MOST_SHUFFLES * warps, (
        f"{launch.warp_operations} shuffles and votes by {warps} warps, at most"
        f" {MOST_SHUFFLES * warps} are allowed: how far does the d-th shuffle have to reach?"
    )
    code = re.sub(r"//.*", "", source("katas.lecture09", "csrc/k06_warp.cu").read_text("utf-8"))
    assert "__activemask" not in code, (
        "__activemask() says which lanes are here at the moment, and not which ones are to come:"
        " nothing keeps lanes together that went the same way"
    )


def test_all_of_it_is_on_the_stream_of_the_caller(extension: CudaExtension) -> None:
    """In `with torch.cuda.stream(s)` that is s, and nothing orders s and the default stream."""
    with extension.simulated(stream=11):
        check(extension, 2, 40)


def test_a_launch_that_fails_is_reported(extension: CudaExtension) -> None:
    """A launch raises nothing; cudaGetLastError() has the error, which is to be returned."""
    with extension.refused():
        check(extension, 2, 40)


def test_the_operator_passes_opcheck(extension: CudaExtension, device: str) -> None:
    """Schema, Meta kernel and kernel agree: nothing is mutated, no storage is shared."""
    check(extension, 3, 50, device)
    torch.library.opcheck(extension.op("scan").default, (torch.rand(3, 50, device=device),))


@pytest.mark.backend("nvcc")
def test_nvcc_makes_instructions_of_shuffles(ptx: Ptx) -> None:
    """Compiled for a GPU: lanes read each other's registers."""
    assert ptx.count("shfl.sync*"), f"no shuffle:\n{ptx.table()}"
    assert 0 == ptx.count("ld.local*", "st.local*"), f"local memory is used:\n{ptx.table()}"
