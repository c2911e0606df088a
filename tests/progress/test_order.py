"""The order in which katas are tried, and which of them wait."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from plugins.course.model import Course
from plugins.course.model import Kata
from plugins.progress.order import blocking
from plugins.progress.order import core_path
from plugins.progress.order import ends_lecture
from plugins.progress.order import offer_optional
from plugins.progress.order import optional_left
from plugins.progress.order import order_katas
from plugins.progress.order import passed_over
from plugins.progress.order import postpone


def a_kata(name: str, *after: str, lecture: str = "lecture01") -> Kata:
    """Return a kata that builds on others of its lecture."""
    return Kata(lecture, name, "T", "lab", (), (), (), (), after, (), (), Path(lecture))


FIRST = a_kata("k01_a")
SECOND = a_kata("k02_b", "k01_a")
THIRD = a_kata("k03_c")
OTHER = a_kata("k01_a", lecture="lecture02")
ALL = [FIRST, SECOND, THIRD, OTHER]


def order_names(*skipped: str, katas: list[Kata] = ALL) -> list[str]:
    """Return the order of the katas."""
    return [kata.id.replace("lecture0", "") for kata in order_katas(katas, skipped)]


def test_teaching_order_is_the_order_of_names() -> None:
    """If none was skipped."""
    assert ["1/k01_a", "1/k02_b", "1/k03_c", "2/k01_a"] == order_names()


def test_skipped_katas_come_back_at_the_end_of_their_lecture() -> None:
    """In the order in which they were skipped; a namesake in another lecture stays."""
    assert ["1/k01_a", "1/k03_c", "1/k02_b", "2/k01_a"] == order_names("lecture01/k02_b")
    assert ["1/k01_a", "1/k03_c", "1/k02_b", "2/k01_a"] == order_names(
        "lecture01/k03_c", "lecture01/k02_b"
    )


def test_katas_skipped_at_the_end_of_their_lecture_come_after_all_others() -> None:
    """The learner wants to go on with the next lecture."""
    twice = ["lecture01/k03_c", "lecture01/k03_c"]

    assert ["1/k01_a", "1/k02_b", "2/k01_a", "1/k03_c"] == order_names(*twice)


def test_a_skipped_kata_is_named_twice_at_the_end_of_its_lecture() -> None:
    """That is where all that is left was skipped before; other lectures do not count."""
    one, three = FIRST.id, THIRD.id

    assert (one,) == postpone([], FIRST, ALL)
    assert (three, one) == postpone([one, three], FIRST, ALL)
    assert (three, one, one) == postpone([one, three], FIRST, [FIRST, THIRD, OTHER])
    assert (one, one) == postpone([], FIRST, [FIRST, OTHER])
    assert (three, one) == postpone([three], FIRST, [FIRST, THIRD, OTHER])


def test_what_builds_on_a_skipped_kata_comes_after_it() -> None:
    """It could not be understood before."""
    assert ["1/k03_c", "1/k01_a", "1/k02_b", "2/k01_a"] == order_names("lecture01/k01_a")


def test_what_is_solved_is_not_waited_for() -> None:
    """It is not among the katas that are left."""
    assert ["1/k02_b", "1/k03_c"] == order_names("lecture01/k01_a", katas=[SECOND, THIRD])


def test_katas_that_wait_for_each_other_come_all_the_same() -> None:
    """A slip in a table does not hide a kata."""
    circle = [a_kata("k01_a", "k02_b"), a_kata("k02_b", "k01_a"), THIRD]

    assert {"1/k01_a", "1/k02_b", "1/k03_c"} == set(order_names(katas=circle))
    assert ["1/k01_a", "1/k02_b"] == order_names(katas=circle[:2])


def test_nothing_waits_for_what_cannot_run_here() -> None:
    """The learner cannot solve it on this machine."""
    waiting = order_katas(ALL, ["lecture01/k01_a"])
    away = order_katas(ALL, ["lecture01/k01_a"], {"lecture01/k01_a"})

    assert waiting == [THIRD, FIRST, SECOND, OTHER]
    assert away == [SECOND, THIRD, FIRST, OTHER]


def test_a_kata_is_blocked_by_what_is_left() -> None:
    """Of its own lecture."""
    assert blocking(SECOND, {"lecture01/k01_a"}) == ["lecture01/k01_a"]
    assert blocking(SECOND, {"lecture02/k01_a"}) == []
    assert blocking(FIRST, {"lecture01/k01_a"}) == []


def test_what_was_passed_over_waits_for_the_first_that_is_left() -> None:
    """Also if it builds on another that waits; and only what comes before the kata shown."""
    far = a_kata("k04_d", "k02_b")
    last = a_kata("k05_e", "k01_a")
    katas = [FIRST, SECOND, THIRD, far, OTHER, last]

    assert passed_over(katas, OTHER.id) == {"lecture01/k01_a": [SECOND, far]}
    assert passed_over(katas, FIRST.id) == {}
    assert passed_over([SECOND, THIRD], THIRD.id) == {}


def test_what_cannot_run_here_neither_waits_nor_is_waited_for() -> None:
    """Unless it is the kata shown, because it can run here since: it ends the list."""
    far = a_kata("k04_d", "k02_b")

    assert passed_over([FIRST, SECOND, THIRD], THIRD.id, {FIRST.id}) == {}
    assert passed_over([FIRST, SECOND, THIRD], THIRD.id, {SECOND.id}) == {}
    assert passed_over([FIRST, SECOND, far], SECOND.id, {SECOND.id}) == {}


BESIDE = replace(SECOND, size="kata", minutes=30, core=False)
LAST = replace(OTHER, size="lab", minutes=60, core=False)


def test_the_core_path_leaves_out_what_is_optional() -> None:
    """Unless it is named, or nothing else is there."""
    assert ALL == core_path(ALL)
    assert [FIRST, THIRD] == core_path([FIRST, BESIDE, THIRD, LAST])
    assert [FIRST, BESIDE] == core_path([FIRST, BESIDE, LAST], BESIDE)
    assert [BESIDE] == core_path([BESIDE, LAST], BESIDE)
    assert [BESIDE, LAST] == core_path([BESIDE, LAST])


def test_what_is_left_beside_the_path() -> None:
    """What is solved, or cannot run here, is not."""
    assert [BESIDE, LAST] == optional_left([FIRST, BESIDE, LAST], [FIRST], ())
    assert [LAST] == optional_left([FIRST, BESIDE, LAST], [FIRST], {BESIDE.id})


def test_a_lecture_ends_with_its_last_kata() -> None:
    """Whether or not katas of other lectures are left."""
    assert ends_lecture(FIRST, [OTHER])
    assert ends_lecture(FIRST, [])
    assert not ends_lecture(FIRST, [THIRD, OTHER])


def test_optional_katas_are_offered_with_a_command(tmp_path: Path) -> None:
    """For their lecture, or for all lectures, from where the learner is."""
    (tmp_path / "katas").mkdir()
    (tmp_path / "katas/__init__.py").touch()
    one, two, other = (
        replace(kata, folder=tmp_path / "katas" / kata.lecture) for kata in (BESIDE, THIRD, LAST)
    )
    course = Course((), ())

    assert [] == offer_optional([], course, tmp_path)
    assert ["1 more is optional: pytest katas/lecture01 --next --all"] == offer_optional(
        [one], course, tmp_path
    )
    assert ["2 more are optional: pytest lecture01 --watch --next --all"] == offer_optional(
        [one, two], course, tmp_path / "katas", watch=True
    )
    assert ["2 more are optional: pytest katas --next --all"] == offer_optional(
        [one, other], course, tmp_path
    )
