"""``--hint``: one more hint each time, and nothing of the kata is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.course.model import Course
from plugins.course.model import Kata
from plugins.course.model import Lecture
from plugins.course.names import UnknownNameError
from plugins.loop.hint import find_kata
from plugins.loop.hint import format_hints


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


def a_kata(folder: Path, name: str = "k01_first", csrc: tuple[str, ...] = ()) -> Kata:
    """Return a kata with three hints, the second one longer than a terminal's line."""
    hints = ("one", "two " * 30, "three")
    return Kata(folder.name, name, "The title", "lab", (), (), (), hints, (), (), csrc, folder)


def test_hints_come_one_at_a_time(tmp_path: Path) -> None:
    """Each says its number and how many are left."""
    kata = a_kata(tmp_path / "lecture77")

    assert format_hints(kata, 1, tmp_path).splitlines() == [
        "lecture77/k01_first: The title",
        "Hint 1 of 3: one",
        "2 more: the same command again, or --hint=all.",
    ]


def test_the_last_hint_names_the_reference(tmp_path: Path) -> None:
    """After it the same command shows it again instead of running out."""
    kata = a_kata(tmp_path / "lecture77", csrc=("csrc/k01_first.cpp",))
    expected = [
        "lecture77/k01_first: The title",
        "Hint 3 of 3: three",
        "No more hints. The reference: lecture77/solutions/csrc/k01_first.cpp",
    ]

    assert format_hints(kata, 3, tmp_path).splitlines() == expected
    assert format_hints(kata, 4, tmp_path).splitlines() == expected


def test_all_hints_fit_the_terminal(tmp_path: Path) -> None:
    """A long hint is wrapped."""
    kata = a_kata(tmp_path / "lecture77")
    lines = format_hints(kata, 3, tmp_path, everything=True).splitlines()

    assert [line[:12] for line in lines if line.startswith("Hint")] == [
        "Hint 1 of 3:",
        "Hint 2 of 3:",
        "Hint 3 of 3:",
    ]
    assert max(map(len, lines)) <= 80


def test_a_kata_is_named_by_its_test_or_exercise(tmp_path: Path) -> None:
    """A whole lecture, or two katas, name none."""
    folder = tmp_path / "lecture77"
    first, second = a_kata(folder), a_kata(folder, "k02_later")
    course = Course((Lecture("lecture77", "", {}, (first, second), folder),), ())

    assert find_kata(course, folder, ["test_k01_first.py::test_x"]) is first
    assert find_kata(course, tmp_path, ["lecture77/k02_later.py"]) is second
    assert find_kata(course, tmp_path, ["lecture77"]) is None
    assert find_kata(course, folder, ["k01_first.py", "k02_later.py"]) is None


def test_a_name_is_enough(tmp_path: Path) -> None:
    """As in any other command; for one that does not exist, similar names are listed."""
    folder = tmp_path / "lecture77"
    first, second = a_kata(folder), a_kata(folder, "k02_later")
    course = Course((Lecture("lecture77", "", {}, (first, second), folder),), ())

    assert find_kata(course, tmp_path, ["lecture77/k02"]) is second
    with pytest.raises(UnknownNameError, match=r"the nearest: lecture77/k02_later,"):
        find_kata(course, tmp_path, ["katas/lecture77/test_k02_lader.py"])


def test_the_command_counts_up_and_runs_nothing(course: MiniCourse) -> None:
    """Three hints, then the reference; the kata's module is not even imported."""
    course.plugins("plugins.course.session", "plugins.loop.hint")
    file = course.kata(test="raise SystemExit('imported')")

    for hint in (
        "1 of 3: the first",
        "2 of 3: the second",
        "3 of 3: the third",
        "3 of 3: the third",
    ):
        result = course.run(file, "--hint")

        assert 0 == result.ret
        result.stdout.fnmatch_lines(["lecture01/k01_first: The title*", f"Hint {hint} hint*"])
    result.stdout.fnmatch_lines(
        [
            "No more hints. The reference: katas/lecture01/solutions/k01_first.py",
            "",
            "read    c10/core/DispatchKeySet.h: DispatchKeySet",
            "        https://github.com/pytorch/pytorch/blob/*/c10/core/DispatchKeySet.h",
            "listen  #62 Strides*",
            "        https://*",
        ]
    )


def test_the_option_may_stand_before_the_file(course: MiniCourse) -> None:
    """``--hint PATH`` reads like a command and means the same."""
    course.plugins("plugins.course.session", "plugins.loop.hint")
    course.kata()

    result = course.run("--hint", "katas/lecture01/test_k01_first.py")

    result.stdout.fnmatch_lines(["Hint 1 of 3: the first hint"])


def test_all_hints_at_once(course: MiniCourse) -> None:
    """And the next ``--hint`` knows that they have been seen."""
    course.plugins("plugins.course.session", "plugins.loop.hint")
    file = course.kata()
    everything = course.run(file, "--hint=all")
    after = course.run(file, "--hint")

    everything.stdout.fnmatch_lines(["Hint 1 of 3:*", "Hint 2 of 3:*", "Hint 3 of 3:*"])
    after.stdout.fnmatch_lines(["Hint 3 of 3:*"])


def test_a_hint_by_its_number(course: MiniCourse) -> None:
    """It is counted as if those before it had been shown; an earlier one takes nothing back."""
    course.plugins("plugins.course.session", "plugins.loop.hint")
    file = course.kata()
    shown = [course.run(file, f"--hint={number}").outlines[1] for number in (2, 1, 9)]
    after = course.run("--course").outlines[0]

    words = ("2 of 3: the second", "1 of 3: the first", "3 of 3: the third")
    assert [f"Hint {word} hint" for word in words] == shown
    assert after.endswith(", 3 hints taken")


def test_hints_that_cannot_be_counted_have_numbers(course: MiniCourse) -> None:
    """In a read-only checkout the command for the next one leads on, to the last."""
    course.plugins("plugins.course.session", "plugins.loop.hint")
    file = course.kata()
    course.write(".katas", "a file, so that nothing can be made in it")
    first = course.run(file, "--hint")
    second = course.run(file, "--hint=2")
    third = course.run(file, "--hint=3")

    first.stdout.fnmatch_lines(
        [
            "Hint 1 of 3: *",
            "2 more: --hint=2, or --hint=all. (.katas cannot be written (File exists), so",
            "nothing is remembered)",
        ]
    )
    second.stdout.fnmatch_lines(["Hint 2 of 3: *", "1 more: --hint=3, or --hint=all.*"])
    third.stdout.fnmatch_lines(["Hint 3 of 3: *", "No more hints.*"])


def test_a_hint_for_no_kata_shows_an_example(course: MiniCourse) -> None:
    """A whole lecture is too much to hint at."""
    course.plugins("plugins.course.session", "plugins.loop.hint")
    course.kata()
    course.kata("k02_second")

    result = course.run("katas/lecture01", "--hint")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --hint wants the test file of one kata: pytest *"])


def test_hints_are_part_of_the_progress(course: MiniCourse) -> None:
    """The map counts those that were taken."""
    course.plugins("plugins.course.session", "plugins.loop.hint")
    file = course.kata()
    before = course.run("--course").outlines[0]
    course.run(file, "--hint=all")

    assert "0 of 1 katas solved, 0 min spent" == before
    assert f"{before}, 3 hints taken" == course.run("--course").outlines[0]


def test_help_is_help(course: MiniCourse) -> None:
    """``--help`` beside ``--hint`` wins."""
    course.plugins("plugins.course.session", "plugins.loop.hint")

    course.run("--hint", "--help").stdout.fnmatch_lines(["*--hint=[[]all[]]*"])
