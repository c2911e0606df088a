"""The order in which ``--next`` takes the katas, and the file that remembers what was skipped."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from plugins.bookmark import FILE
from plugins.bookmark import Bookmark
from plugins.bookmark import change_bookmark
from plugins.bookmark import read_bookmark
from plugins.layout import Kata
from plugins.order import ordered
from plugins.order import skip
from plugins.order import starting_at


def a_kata(name: str, *after: str, lecture: str = "lecture01") -> Kata:
    """Return a kata that builds on others of its lecture."""
    return Kata(lecture, name, "T", "lab", (), (), (), (), after, (), (), Path(lecture))


FIRST = a_kata("k01_a")
SECOND = a_kata("k02_b", "k01_a")
THIRD = a_kata("k03_c")
OTHER = a_kata("k01_a", lecture="lecture02")
ALL = [FIRST, SECOND, THIRD, OTHER]


def names(*skipped: str, katas: list[Kata] = ALL) -> list[str]:
    """Return the order of the katas."""
    return [kata.id.replace("lecture0", "") for kata in ordered(katas, skipped)]


def test_teaching_order_is_the_order_of_names() -> None:
    """As long as nothing else is asked for."""
    assert ["1/k01_a", "1/k02_b", "1/k03_c", "2/k01_a"] == names()


def test_skipped_katas_come_last() -> None:
    """In the order in which they were skipped, whatever else is called so elsewhere."""
    assert ["1/k01_a", "1/k02_b", "2/k01_a", "1/k03_c"] == names("lecture01/k03_c")
    assert ["1/k01_a", "2/k01_a", "1/k03_c", "1/k02_b"] == names(
        "lecture01/k03_c", "lecture01/k02_b"
    )


def test_what_builds_on_a_skipped_kata_comes_after_it() -> None:
    """Before it, it could not be understood."""
    assert ["1/k03_c", "2/k01_a", "1/k01_a", "1/k02_b"] == names("lecture01/k01_a")


def test_what_is_solved_is_not_waited_for() -> None:
    """It is not among the katas that are left."""
    assert ["1/k02_b", "1/k03_c"] == names("lecture01/k01_a", katas=[SECOND, THIRD])


def test_katas_that_wait_for_each_other_come_all_the_same() -> None:
    """A slip in a table does not hide a kata."""
    circle = [a_kata("k01_a", "k02_b"), a_kata("k02_b", "k01_a"), THIRD]

    assert {"1/k01_a", "1/k02_b", "1/k03_c"} == set(names(katas=circle))
    assert ["1/k01_a", "1/k02_b"] == names(katas=circle[:2])


def test_starting_elsewhere_leaves_out_what_comes_before() -> None:
    """And keeps the rest of the course."""
    assert [THIRD, OTHER] == starting_at(ALL, THIRD)


def test_a_kata_that_is_skipped_again_goes_to_the_end() -> None:
    """It is in the list once."""
    assert ["a"] == skip([], "a")
    assert ["b", "a"] == skip(["a", "b"], "a")


def test_what_is_changed_is_remembered(tmp_path: Path) -> None:
    """And before that there is nothing."""
    assert Bookmark() == read_bookmark(tmp_path)
    new = change_bookmark(tmp_path, lambda old: replace(old, shown="a", skipped=("b", "c")))

    assert Bookmark("a", ("b", "c")) == new == read_bookmark(tmp_path)


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"shown": "a", "skipped": 1}', "null"])
def test_a_damaged_bookmark_counts_as_none(tmp_path: Path, damage: str) -> None:
    """It costs no more than what it held."""
    change_bookmark(tmp_path, lambda _: Bookmark("a"))
    (tmp_path / FILE).write_text(damage)

    assert Bookmark() == read_bookmark(tmp_path)


def test_a_read_only_checkout_remembers_nothing(tmp_path: Path) -> None:
    """The command goes on: a file stands where the folder should."""
    (tmp_path / ".katas").write_text("")

    assert Bookmark("a") == change_bookmark(tmp_path, lambda _: Bookmark("a"))
    assert Bookmark() == read_bookmark(tmp_path)


def test_no_change_is_lost(tmp_path: Path) -> None:
    """Though several ask at once."""

    def skip_one(number: int) -> None:
        change_bookmark(tmp_path, lambda old: replace(old, skipped=(*old.skipped, str(number))))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(skip_one, range(40)))

    assert set(map(str, range(40))) == set(read_bookmark(tmp_path).skipped)
