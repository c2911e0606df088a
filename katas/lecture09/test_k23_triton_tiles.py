"""Tests of k23_triton_tiles: the order of the tiles, and what comes from memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from katas.lecture09 import k23_triton_tiles as kata


TILE, STEP, GROUP = 64, 32, 4


def order(rows: int, columns: int, group: int = GROUP) -> list[tuple[int, int]]:
    """Return the tiles in the order of the programs."""
    groups = [range(first, min(first + group, rows)) for first in range(0, rows, group)]
    return [(i, j) for each in groups for j in range(columns) for i in each]


def follow(rows: int, columns: int, group: int) -> None:
    """Compare the tiles of all programs."""
    found = [tuple(kata.tile(p, rows, columns, group)) for p in range(rows * columns)]
    assert order(rows, columns, group) == found, (
        f"programs 0, 1, 2, ... of {rows} x {columns} tiles in groups of {group} rows compute"
        f" {found}, expected {order(rows, columns, group)}"
    )


def test_one_group_is_taken_column_by_column() -> None:
    """Programs go down the 4 rows of a group, then move to the next column."""
    follow(4, 3, 4)


def test_one_row_of_tiles() -> None:
    """If there is only one row of tiles, programs go along it."""
    follow(1, 5, 4)


@pytest.mark.parametrize("rows", [8, 12])
def test_the_next_group_begins_behind_all_columns(rows: int) -> None:
    """A full group has 4 * tiles_n programs."""
    follow(rows, 3, 4)


@pytest.mark.parametrize("rows", [2, 5, 6, 7, 11])
def test_the_last_group_may_have_fewer_rows(rows: int) -> None:
    """The last group has fewer rows, so its programs move to the next column earlier."""
    follow(rows, 3, 4)


def test_groups_of_one_row_are_row_major() -> None:
    """Groups of one row are row-major, and one group of all rows is column-major."""
    follow(5, 4, 1)
    follow(5, 4, 100)


@given(rows=st.integers(1, 12), columns=st.integers(1, 12), group=st.integers(1, 6))
def test_any_order(rows: int, columns: int, group: int) -> None:
    """Each tile belongs to exactly one program."""
    follow(rows, columns, group)


class Number:
    """A number as in a kernel: it supports arithmetic and comparison."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __repr__(self) -> str:
        return str(self.value)

    def __lt__(self, other: Number | int) -> bool:
        return self.value < value_of(other)

    def __le__(self, other: Number | int) -> bool:
        return self.value <= value_of(other)

    def __gt__(self, other: Number | int) -> bool:
        return self.value > value_of(other)

    def __ge__(self, other: Number | int) -> bool:
        return self.value >= value_of(other)

    def __neg__(self) -> Number:
        return Number(-self.value)

    def __add__(self, other: Number | int) -> Number:
        return Number(self.value + value_of(other))

    def __sub__(self, other: Number | int) -> Number:
        return Number(self.value - value_of(other))

    def __rsub__(self, other: int) -> Number:
        return Number(other - self.value)

    def __mul__(self, other: Number | int) -> Number:
        return Number(self.value * value_of(other))

    def __floordiv__(self, other: Number | int) -> Number:
        return Number(self.value // value_of(other))

    def __mod__(self, other: Number | int) -> Number:
        return Number(self.value % value_of(other))

    def __divmod__(self, other: Number | int) -> tuple[Number, Number]:
        return self // other, self % other

    __radd__ = __add__
    __rmul__ = __mul__


def value_of(number: Number | int) -> int:
    """Return the int."""
    return number.value if isinstance(number, Number) else number


def test_a_program_works_out_its_tile_by_arithmetic() -> None:
    """A program has only numbers: no list of the tiles before its own, no loop over them."""
    try:
        found = kata.tile(Number(57), Number(6), Number(10), Number(4))
    except TypeError as error:
        raise AssertionError(
            f"this is no arithmetic, and a kernel could not do it: {error}"
        ) from error
    own = tuple(value_of(each) for each in found)
    assert (5, 8) == own, (
        f"of 6 x 10 tiles in groups of 4 rows program 57 has {own}, expected (5, 8): the last"
        " group has 2 rows"
    )


# Part one: what a step loads.


def test_without_tiles_everything_is_loaded_again() -> None:
    """With 1 x 1 tiles, each element of out needs a row of x and a row of w."""
    found = kata.traffic(10, 20, 30, 1, 1, 1, 1)
    assert isinstance(found, int), f"a number of elements is an int, not {type(found).__name__}"
    assert 2 * 10 * 20 * 30 == found, f"200 results need 60 elements each, 12000; found {found}"


@pytest.mark.parametrize("side", [4, 8, 16])
def test_a_tile_divides_the_traffic_by_its_side(side: int) -> None:
    """An element of x serves a row of the tile, an element of w a column."""
    found = kata.traffic(64, 64, 64, side, side, 1, 1)
    assert 2 * 64**3 // side == found, (
        f"tiles of {side} x {side}: expected 524288 / {side}, found {found}"
    )


def test_a_tile_lies_as_the_result_does() -> None:
    """For one row of 64 results, a 1 x 64 tile loads the row of x once, 64 x 1 tiles 64 times."""
    found = kata.traffic(1, 64, 8, 1, 64, 1, 1)
    assert 8 + 64 * 8 == found, (
        f"expected 8 + 64 * 8: a tile of 1 x 64 needs 1 row of x, 64 of w; found {found}"
    )
    found = kata.traffic(1, 64, 8, 64, 1, 1, 1)
    assert 64 * (8 + 8) == found, (
        f"expected 64 * 16: 64 tiles of 64 x 1, each with only 1 x 1 in bounds; found {found}"
    )


def test_edges_load_less() -> None:
    """A tile at the edge has fewer rows to load: 10 rows are 4, 4 and 2."""
    found = kata.traffic(10, 7, 3, 4, 4, 1, 1)
    assert 10 * 3 * 2 + 7 * 3 * 3 == found, f"expected 60 of x and 63 of w, found {found}"


def test_programs_of_a_wave_share() -> None:
    """If all programs run at once, each element comes from memory once."""
    found = kata.traffic(10, 7, 3, 4, 4, 2, 6)
    assert (10 + 7) * 3 == found, (
        f"yours is {found}, expected 51: all 6 tiles are in one wave, which loads x and w once"
    )
    assert (10 + 7) * 3 == kata.traffic(10, 7, 3, 4, 4, 2, 1000), (
        "a wave of 1000 with 6 programs gives another number, expected the same as a wave of 6"
    )


def test_the_order_of_programs_decides() -> None:
    """16 x 16 tiles, 16 programs at a time: 1 + 16 strips in rows, 4 + 4 in groups of 4 rows."""
    strip = 64 * 1024
    for group, strips in ((1, 17), (2, 10), (4, 8), (8, 10), (16, 17)):
        found = kata.traffic(1024, 1024, 1024, 64, 64, group, 16)
        assert 16 * strips * strip == found, (
            f"in groups of {group} rows, each of the 16 waves needs {strips} strips of 64 x 1024;"
            f" found {found / 16 / strip:g}"
        )


@pytest.mark.parametrize(("m", "n", "k"), [(0, 5, 3), (5, 0, 3), (5, 3, 0)])
def test_nothing_to_load(m: int, n: int, k: int) -> None:
    """Without tiles, or with k = 0, nothing is loaded."""
    found = kata.traffic(m, n, k, 4, 4, 4, 2)
    assert 0 == found, f"m, n, k = {m}, {n}, {k}: expected 0 loads, yours is {found}"


@settings(max_examples=50)
@given(
    sizes=st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 3)),
    blocks=st.tuples(st.integers(1, 7), st.integers(1, 7)),
    group=st.integers(1, 5),
    wave=st.integers(1, 12),
)
def test_any_traffic(
    sizes: tuple[int, int, int], blocks: tuple[int, int], group: int, wave: int
) -> None:
    """The traffic equals a count element by element, wave by wave."""
    (m, n, k), (block_m, block_n) = sizes, blocks
    programs = order(-(-m // block_m), -(-n // block_n), group)
    expected = 0
    for first in range(0, len(programs), wave):
        needed = set()
        for i, j in programs[first : first + wave]:
            rows, columns = range(m)[i * block_m :][:block_m], range(n)[j * block_n :][:block_n]
            needed |= {("x", row, p) for row in rows for p in range(k)}
            needed |= {("w", column, p) for column in columns for p in range(k)}
        expected += len(needed)
    found = kata.traffic(m, n, k, block_m, block_n, group, wave)
    assert expected == found, (
        f"yours is {found}, counted one by one {expected}: m, n, k = {sizes}, tiles of {blocks},"
        f" groups of {group}, waves of {wave}"
    )


# Part two: the kernel.
