"""Two texts side by side."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.loop.columns import count_columns
from plugins.loop.columns import side_by_side


LEFT = """def twice(n):
    total = 0
    total += n
    return total + n

def half(n):
    return n // 2"""
RIGHT = """def twice(n):
    return 2 * n

def half(n):
    return n // 2

def third(n): ..."""
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def test_equal_lines_stand_side_by_side() -> None:
    """A line of one side stands alone, and a changed line has a mark."""
    assert [row.text for row in side_by_side(LEFT, RIGHT, 47)] == [
        "def twice(n):            def twice(n):",
        "    total = 0          |     return 2 * n",
        "    total += n         <",
        "    return total + n   <",
        "",
        "def half(n):             def half(n):",
        "    return n // 2            return n // 2",
        "                       >",
        "                       > def third(n): ...",
    ]


def test_a_long_line_is_wrapped_in_its_cell() -> None:
    """Between words where it can be, indented a little further; the other side waits for it."""
    rows = list(side_by_side("    return first + second\nx" + "y" * 25, "z", 43))

    assert [row.left for row in rows] == [
        "    return first +  ",
        "      second        ",
        "x" + "y" * 19,
        "  " + "y" * 6 + " " * 12,
    ]
    assert ["|", "|", "<", "<"] == [row.mark for row in rows]
    assert [f"{'z':20}", " " * 20] == [row.right for row in rows[:2]]


def test_no_name_is_divided_that_fits() -> None:
    """Code without a blank is divided after a dot, a bracket, a comma or an equals sign."""
    line = "    torch.nn.functional.one_hot(classes,count)[0].sum(keepdim=True)"

    assert [row.left.rstrip() for row in side_by_side(line, line, 43)] == [
        "    torch.nn.",
        "      functional.",
        "      one_hot(",
        "      classes,count)",
        "      [0].sum(",
        "      keepdim=True)",
    ]


def test_wide_characters_take_two_columns() -> None:
    """And one that does not fit goes to the next line whole; an accent takes none."""
    rows = list(side_by_side("x" * 19 + "\u5b57", "e\u0301", 43))

    assert "x" * 19 + " " == rows[0].left
    assert "  \u5b57" + " " * 16 == rows[1].left
    assert "e\u0301" + " " * 19 == rows[0].right


def test_what_a_terminal_would_act_on_is_shown_as_a_mark() -> None:
    """An escape in a string literal of the learner's clears no screen; a tab is blanks."""
    (row,) = side_by_side("\tx\x1b[2J", "", 43)

    assert "    x\N{REPLACEMENT CHARACTER}[2J".ljust(20) == row.left


def test_blanks_at_the_end_make_no_difference() -> None:
    """Nor do line ends."""
    assert [" "] == [row.mark for row in side_by_side("x = 1  \r\n", "x = 1\n", 80)]


def test_nothing_stands_beside_nothing() -> None:
    """Two empty texts have no lines."""
    assert [] == list(side_by_side("", "", 80))


@pytest.mark.parametrize("width", [0, 1, 43])
def test_a_narrow_terminal_gets_cells_all_the_same(width: int) -> None:
    """Less than twenty columns a side cannot be read."""
    (row,) = side_by_side("x", "y", width)

    assert (20, 20) == (len(row.left), len(row.right))


@given(left=TEXT, right=TEXT, width=st.integers(43, 120))
def test_no_row_is_wider_than_the_terminal(left: str, right: str, width: int) -> None:
    """Whatever the texts hold, and nothing of them is lost."""
    rows = list(side_by_side(left, right, width))

    assert [] == [row for row in rows if sum(map(count_columns, row.text)) > width]
    for text, side in ((left, "left"), (right, "right")):
        shown = "".join(getattr(row, side) for row in rows).replace(" ", "")
        wanted = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
        breaks = "\N{REPLACEMENT CHARACTER} "
        assert [c for c in shown if c not in breaks] == [c for c in wanted if c not in breaks]


def test_long_texts_take_no_time() -> None:
    """Two thousand lines that have nothing in common, and two thousand that are equal."""
    begun = time.process_time()
    left = "\n".join(f"left {n}" for n in range(2000))
    right = "\n".join(f"right {n}" for n in range(2000))

    assert 2000 == len(list(side_by_side(left, right, 80)))
    assert time.process_time() - begun < 30
