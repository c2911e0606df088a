"""What is longer than the screen of ``--watch``, page by page."""

from __future__ import annotations

import pytest

from plugins.loop.pages import Pages


LINES = [f"line {n}" for n in range(1, 11)]


def turn(pages: Pages, keys: str, rows: int = 4) -> list[str]:
    """Press the keys and return where that leads."""
    went = []
    for key in keys:
        assert pages.move(key, rows)
        went.append(pages.place(rows).removeprefix("lines ").removesuffix(" of 10"))
    return went


def test_the_keys_turn_pages_and_lines() -> None:
    """From the beginning to the end and back, and not past them."""
    pages = Pages(LINES, 80)

    assert LINES[:4] == pages.shown(4)
    assert "lines 1 to 4 of 10" == pages.place(4)
    assert ["2 to 5", "3 to 6", "2 to 5", "6 to 9", "7 to 10", "7 to 10"] == turn(pages, "jjk  j")
    assert ["3 to 6", "1 to 4", "1 to 4"] == turn(pages, "bbk")


@pytest.mark.parametrize("key", ["n", "s", "l", "q"])
def test_other_keys_turn_nothing(key: str) -> None:
    """They close the pages, and do what they do elsewhere."""
    assert not Pages(LINES, 80).move(key, 4)


def test_a_line_counts_as_many_rows_as_it_takes() -> None:
    """Without its colours; one that is longer than the screen is shown all the same."""
    pages = Pages(["\x1b[1mbold\x1b[0m", "x" * 25, "y", "z" * 90], 10)

    assert [1, 3, 1, 9] == pages.rows
    assert not pages.fit(13)
    assert pages.fit(14)
    assert ["\x1b[1mbold\x1b[0m", "x" * 25] == pages.shown(4)
    assert pages.move(" ", 4)
    assert ["y"] == pages.shown(4)
    assert pages.move(" ", 4)
    assert ["z" * 90] == pages.shown(4)
