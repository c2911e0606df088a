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
        warp, lane = divmod(column, WARP)
        if lane:
            why = f"Within a warp: lane {lane} adds in five steps, of 1, 2, 4, 8 and 16."
        elif warp:
            why = f"Between warps: warp {warp} adds the sum of all totals before it, not its own."
        else:
            why = "Lane 0 of warp 0 adds nothing: a lane with nobody below gets its own value."
        raise AssertionError(
            f"{len(wrong)} of {rows} x {columns} running sums are wrong, the first is"
            f" out[{row}][{column}] (warp {warp}, lane {lane}): yours {actual[row, column].item()},"
            f" PyTorch's {expected[row, column].item()}.\n{why}"
        )


def launched(extension: CudaExtension, rows: int, columns: int) -> tuple[Launch, int]:
    """Return what the kernel did, and the number of its warps."""
    check(extension, rows, columns)
    launches = extension.launches()
    assert 1 == len(launches), f"your code launches {len(launches)} kernels, expected the given one"
    return launches[0], rows * -(-columns // WARP)


def test_one_column(extension: CudaExtension, device: str) -> None:
    """One element is its own sum; the other 31 lanes of the warp have no element."""
    check(extension, 1, 1, device)


@pytest.mark.parametrize("columns", [2, 3, 16, 31, 32])
def test_one_warp(extension: CudaExtension, device: str, columns: int) -> None:
    """Up to 32 columns need only shuffles, in a full warp or a partial one."""
    check(extension, 1, columns, device)


@pytest.mark.parametrize("columns", [33, 63, 64, 65, 255, 256, 257])
def test_a_warp_adds_what_the_warps_before_have(
    extension: CudaExtension, device: str, columns: int
) -> None:
    """With several warps, the last one full or not, totals go through shared memory."""
    check(extension, 1, columns, device)


@pytest.mark.parametrize("columns", [992, 993, 1023, 1024])
def test_the_longest_rows(extension: CudaExtension, device: str, columns: int) -> None:
    """With 31 or 32 warps, the totals of a row nearly or entirely fill a warp."""
    check(extension, 1, columns, device)


@pytest.mark.parametrize(("rows", "columns"), [(3, 1), (5, 32), (4, 100)])
def test_each_row_by_itself(extension: CudaExtension, device: str, rows: int, columns: int) -> None:
    """A block's index selects its row, and nothing is added from the row before."""
    check(extension, rows, columns, device)


@given(rows=st.integers(1, 3), columns=st.integers(1, 1024))
def test_any_matrix(extension: CudaExtension, rows: int, columns: int) -> None:
    """Test any number of rows and columns, in any order of blocks, warps and lanes."""
    check(extension, rows, columns)


@pytest.mark.parametrize("column", [0, 7, 31, 32, 99])
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_stands_before_an_infinity_does_not_feel_it(
    extension: CudaExtension, device: str, column: int, value: float
) -> None:
    """A special value changes the sums from its column on, and none before."""
    x = torch.ones(1, 100, device=device)
    x[0, column] = value
    expected = x.cumsum(1)[0].tolist()
    actual = extension.op("scan")(x)[0].tolist()
    wrong = [i for i in range(100) if repr(expected[i]) != repr(actual[i])]
    assert [] == wrong, (
        f"{value} is in column {column}; out[0][{wrong[0]}]: yours {actual[wrong[0]]},"
        f" PyTorch's {expected[wrong[0]]}. Is something subtracted again, or multiplied by 0?"
        " inf - inf and 0 * inf are NaN: select what to add by an if."
    )


def test_opposite_infinities_are_nan_from_the_second_on(
    extension: CudaExtension, device: str
) -> None:
    """With inf in one warp and -inf in the next, sums are inf between the two, then NaN."""
    x = torch.ones(1, 100, device=device)
    x[0, 20], x[0, 50] = math.inf, -math.inf
    actual = extension.op("scan")(x)[0].cpu()
    assert [math.inf] * 30 == actual[20:50].tolist(), (
        f"columns 20 to 49, between the two: PyTorch's are inf, yours {actual[20:50].tolist()}"
    )
    assert actual[50:].isnan().all(), (
        f"from column 50 on: PyTorch's are NaN (inf - inf), yours {actual[50:].tolist()}"
    )


def test_neighbouring_threads_read_and_write_each_element_once(extension: CudaExtension) -> None:
    """A row takes 1024 loads and stores, and a warp's 32 floats fill 4 sectors of 32 bytes."""
    launch, warps = launched(extension, 2, 1024)
    for kind in ("read", "write"):
        count = launch.count("global", kind)
        assert 2 * 1024 == count.accesses, (
            f"2 x 1024 elements: your kernel has {count.accesses} accesses of kind {kind!r}, one"
            f" per element would do: keep the element in a register\n{launch.table()}"
        )
        assert 4 * warps == count.sectors, (
            f"your kernel touches {count.sectors} sectors of kind {kind!r} for {warps} warps,"
            f" {4 * warps} would do: which elements do the 32 lanes touch at the same"
            f" time?\n{launch.table()}"
        )


@pytest.mark.parametrize("columns", [320, 1024])
def test_two_barriers(extension: CudaExtension, columns: int) -> None:
    """Two barriers are enough: one after the totals, one after their sums."""
    launch, _ = launched(extension, 2, columns)
    each = launch.barriers / 2
    assert each <= MOST_BARRIERS, (
        f"your kernel has {each} barriers per block, at most {MOST_BARRIERS} are allowed:"
        f" within a warp the shuffle itself makes lanes wait for each other\n{launch.table()}"
    )


@pytest.mark.parametrize("columns", [320, 1024])
def test_shared_memory_holds_one_float_per_warp(extension: CudaExtension, columns: int) -> None:
    """At most 2 values per warp go to shared memory: its total, and the sum of totals."""
    launch, warps = launched(extension, 2, columns)
    stored = launch.count("shared", "write", "atomic").accesses
    assert stored >= warps - 2, (
        f"your kernel stores {stored} values in shared memory in {warps} warps of 2 rows, expected"
        " a total from each but the last of a row: does one warp do the work of all?\n"
        + launch.table()
    )
    assert stored <= MOST_STORED * warps, (
        f"your kernel stores {stored} values in shared memory in {warps} warps, at most"
        f" {MOST_STORED * warps} are allowed: use shuffles to read other lanes' registers\n"
        f"{launch.table()}"
    )


@pytest.mark.parametrize("columns", [320, 1024])
def test_few_wavefronts_of_shared_memory(extension: CudaExtension, columns: int) -> None:
    """At most 5 wavefronts per warp: no thread sums the totals before it one by one."""
    launch, warps = launched(extension, 2, columns)
    shared = launch.count("shared").wavefronts
    assert shared <= MOST_SHARED * warps, (
        f"your kernel takes {shared} wavefronts of shared memory in {warps} warps, at most"
        f" {MOST_SHARED * warps} are allowed: who adds up the totals, and how often? There are"
        f" at most 32, and a warp has 32 lanes: call warp_scan once more\n{launch.table()}"
    )


@pytest.mark.parametrize("columns", [320, 1024])
def test_five_shuffles_make_a_warps_sums(extension: CudaExtension, columns: int) -> None:
    """Distances double, so 5 shuffles reach 31 lanes: at most 12 warp operations per warp."""
    launch, warps = launched(extension, 2, columns)
    assert launch.warp_operations <= MOST_SHUFFLES * warps, (
        f"your kernel has {launch.warp_operations} shuffles and votes in {warps} warps, at most"
        f" {MOST_SHUFFLES * warps} are allowed: how far does the d-th shuffle have to reach?"
    )
    code = re.sub(r"//.*", "", source("katas.lecture09", "csrc/k06_warp.cu").read_text("utf-8"))
    assert "__activemask" not in code, (
        "your kernel calls __activemask(), which says which lanes are active now, not which are"
        " still to come: nothing forces lanes that took the same branch to run together"
    )


@pytest.mark.backend("nvcc")
def test_nvcc_makes_instructions_of_shuffles(ptx: Ptx) -> None:
    """Compiled for a GPU, lanes read each other's registers."""
    assert ptx.count("shfl.sync*"), f"your kernel has no shuffle:\n{ptx.table()}"
    assert 0 == ptx.count("ld.local*", "st.local*"), (
        "your kernel uses local memory, for an array whose index is unknown at compile time:\n"
        f"{ptx.table()}"
    )
