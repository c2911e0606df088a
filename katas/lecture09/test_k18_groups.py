"""Tests of k18_groups: two rows in a warp, which end at different steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas import source
from plugins.kit import forbids_tokens


if TYPE_CHECKING:
    from plugins.kit import CudaExtension
    from plugins.kit import Ptx


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

TILE = 16
LIMIT = 0.5


def rows_with(places: list[int], columns: int, device: str = "cpu") -> torch.Tensor:
    """Return rows that exceed LIMIT from some column on, at every third column."""
    x = torch.full((len(places), columns), LIMIT, device=device)
    for row, place in zip(x, places, strict=True):
        row[place::3] = math.pi
    return x


def expected(x: torch.Tensor, limit: float = LIMIT) -> list[int]:
    """Return the first columns: argmax names the first of several that are equal."""
    above = torch.cat([x > limit, torch.ones(len(x), 1, dtype=torch.bool, device=x.device)], 1)
    found: list[int] = above.int().argmax(1).tolist()
    return found


def check(extension: CudaExtension, x: torch.Tensor, limit: float = LIMIT) -> None:
    """Compare one search with PyTorch's."""
    __tracebackhide__ = True
    right = expected(x, limit)
    yours = extension.op("first_above")(x, limit).tolist()
    wrong = [row for row, first in enumerate(right) if yours[row] != first]
    assert not wrong, (
        f"{len(x)} rows of {x.size(1)}, the first column above {limit}: yours is"
        f" {yours[wrong[0]]} in row {wrong[0]}, expected {right[wrong[0]]}; the other row of its"
        f" warp is {wrong[0] ^ 1}. A tile has its own lanes, ranks and bits, from 0 on"
    )


@pytest.mark.parametrize("place", [0, 1, 7, 15])
def test_both_rows_of_a_warp_end_in_the_first_step(
    extension: CudaExtension, device: str, place: int
) -> None:
    """16 columns take one step: each row has its own lanes, numbered from 0."""
    check(extension, rows_with([15 - place, place], TILE, device))


@pytest.mark.parametrize("places", [[0, 40], [40, 0], [20, 47], [70, 3]])
def test_one_row_of_a_warp_ends_before_the_other(
    extension: CudaExtension, device: str, places: list[int]
) -> None:
    """One half of the warp is done, and the other half goes on by itself."""
    check(extension, rows_with(places, 71, device))


@pytest.mark.parametrize("columns", [0, 1, 15, 17, 33])
def test_nothing_is_above(extension: CudaExtension, device: str, columns: int) -> None:
    """If nothing is above the limit, return the number of columns; stop at the row's end."""
    x = rows_with([columns, 0, columns], columns, device)
    check(extension, x)


@pytest.mark.parametrize("rows", [1, 2, 7, 9])
def test_any_number_of_rows(extension: CudaExtension, device: str, rows: int) -> None:
    """Half a warp may have no row at all."""
    check(extension, rows_with([11 * row % 50 for row in range(rows)], 50, device))


@given(
    places=st.lists(st.integers(0, 60), min_size=1, max_size=9),
    columns=st.integers(1, 60),
    seed=st.integers(0, 1000),
)
@example(places=[3, 33], columns=40, seed=0)
def test_any_rows(extension: CudaExtension, places: list[int], columns: int, seed: int) -> None:
    """Infinity counts as above the limit; NaN and the limit itself do not."""
    generator = torch.Generator().manual_seed(seed)
    below = torch.tensor([LIMIT, -math.sqrt(2), 0.0, -math.inf, math.nan])
    above = torch.tensor([math.pi, math.inf, 0.5000001])
    x = below[torch.randint(0, 5, (len(places), columns), generator=generator)]
    for row, place in zip(x, places, strict=True):
        more = torch.rand(columns, generator=generator) < 0.5
        more[:place] = False
        row[more] = above[torch.randint(0, 3, (columns,), generator=generator)][more]
    check(extension, x)


@pytest.mark.parametrize("order", ["forwards", "backwards", "shuffled"])
def test_a_row_is_read_until_one_is_above(extension: CudaExtension, order: str) -> None:
    """A tile loads 16 neighbours in each step, and stops after the step that finds a number."""
    x = rows_with([0, 15, 16, 31, 64, 63, 5, 99], 64)
    with extension.simulated(order=order):
        check(extension, x)
    (launch,) = extension.launches()
    steps = [min(first, 63) // TILE + 1 for first in expected(x)]
    loads = launch.count("global", "read").accesses
    assert loads == TILE * sum(steps), (
        f"8 rows that take {steps} steps of 16 loads: your kernel loads {loads} elements, expected"
        f" {TILE * sum(steps)}. Stop a tile when its row is done\n{launch.table()}"
    )


def test_the_mask_does_not_depend_on_who_comes_together(extension: CudaExtension) -> None:
    """CUDA does not promise that a tile's lanes reach a line together: a mask must name them."""
    check(extension, rows_with([3, 20], 40))
    try:
        forbids_tokens(
            source("katas.lecture09", "csrc/k18_groups.cu"), "__activemask", "coalesced_threads"
        )
    except AssertionError as error:
        used = str(error).partition("\n")[0]
        pytest.fail(
            f"{used}: your code asks which lanes are active, expected a tile, which names those"
            " that must take part",
            pytrace=False,
        )


@pytest.mark.backend("nvcc")
def test_nvcc_makes_a_mask_for_each_tile(ptx: Ptx) -> None:
    """Compiled for a GPU: a warp instruction, and nothing in local memory."""
    warp = ptx.count("vote.sync*", "shfl.sync*", "redux.sync*")
    assert warp, f"your kernel has no vote, shuffle or reduction, expected one:\n{ptx.table()}"
    local = ptx.count("ld.local*", "st.local*")
    assert local == 0, f"your kernel uses local memory {local} times, expected none:\n{ptx.table()}"
