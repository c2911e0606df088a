"""``--hint``: one more hint each time, and nothing of the kata is run."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING

import pytest

from plugins.hintcounts import FILE
from plugins.hintcounts import change_count
from plugins.hintcounts import read_counts
from plugins.hints import named_kata
from plugins.hints import text
from plugins.layout import Course
from plugins.layout import Kata
from plugins.layout import Lecture
from plugins.names import UnknownNameError


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

    assert text(kata, 1).splitlines() == [
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

    assert text(kata, 3).splitlines() == expected
    assert text(kata, 4).splitlines() == expected


def test_all_hints_fit_the_terminal(tmp_path: Path) -> None:
    """A long hint is wrapped."""
    lines = text(a_kata(tmp_path / "lecture77"), 3, everything=True).splitlines()

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

    assert named_kata(course, folder, ["test_k01_first.py::test_x"]) is first
    assert named_kata(course, tmp_path, ["lecture77/k02_later.py"]) is second
    assert named_kata(course, tmp_path, ["lecture77"]) is None
    assert named_kata(course, folder, ["k01_first.py", "k02_later.py"]) is None


def test_a_name_is_enough(tmp_path: Path) -> None:
    """As any other command takes it; one that does not exist is answered with what does."""
    folder = tmp_path / "lecture77"
    first, second = a_kata(folder), a_kata(folder, "k02_later")
    course = Course((Lecture("lecture77", "", {}, (first, second), folder),), ())

    assert named_kata(course, tmp_path, ["lecture77/k02"]) is second
    with pytest.raises(UnknownNameError, match=r"there are: lecture77/k02_later,"):
        named_kata(course, tmp_path, ["katas/lecture77/test_k02_lader.py"])


def test_counts_survive(tmp_path: Path) -> None:
    """What was shown is remembered in the state folder, which is made when needed."""
    assert 2 == change_count(tmp_path, "lecture77/k01_first", lambda count: count + 2)
    assert 1 == change_count(tmp_path, "lecture77/k02_later", lambda count: count + 1)

    assert {"lecture77/k01_first": 2, "lecture77/k02_later": 1} == read_counts(tmp_path)


def test_damaged_counts_count_as_none(tmp_path: Path) -> None:
    """Whatever stands in the file, the learner gets the first hint, not a traceback."""
    change_count(tmp_path, "lecture77/k01_first", lambda _: 3)
    for damage in (
        "",
        "[]",
        '{"lecture77/k01_first": null}',
        '{"a": "b"}',
        b"\xff".decode("latin1"),
    ):
        (tmp_path / FILE).write_text(damage, encoding="latin1")

        assert {} == read_counts(tmp_path)


def test_a_state_that_cannot_be_written_is_forgotten(tmp_path: Path) -> None:
    """A file where the state folder should be costs the learner nothing."""
    (tmp_path / ".katas").write_text("in the way")

    assert 1 == change_count(tmp_path, "lecture77/k01_first", lambda count: count + 1)
    assert "in the way" == (tmp_path / ".katas").read_text()


def ask_often(root: Path, kata: str, times: int) -> None:
    """Ask for so many hints."""
    for _ in range(times):
        change_count(root, kata, lambda count: count + 1)


def test_two_terminals_at_once_get_two_hints(tmp_path: Path) -> None:
    """No count is lost between processes, of one kata or of several."""
    context = multiprocessing.get_context("spawn")
    katas = ["lecture77/k01_first", "lecture77/k01_first", "lecture77/k02_later"]
    askers = [context.Process(target=ask_often, args=(tmp_path, kata, 30)) for kata in katas]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()

    assert {"lecture77/k01_first": 60, "lecture77/k02_later": 30} == read_counts(tmp_path)


def test_the_command_counts_up_and_runs_nothing(course: MiniCourse) -> None:
    """Three hints, then the reference; the kata's module is not even imported."""
    course.plugins("plugins.course", "plugins.hints")
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
    result.stdout.fnmatch_lines(["No more hints. The reference: lecture01/solutions/k01_first.py"])


def test_the_option_may_stand_before_the_file(course: MiniCourse) -> None:
    """``--hint PATH`` reads like a command and means the same."""
    course.plugins("plugins.course", "plugins.hints")
    course.kata()

    result = course.run("--hint", "katas/lecture01/test_k01_first.py")

    result.stdout.fnmatch_lines(["Hint 1 of 3: the first hint"])


def test_all_hints_at_once(course: MiniCourse) -> None:
    """And the next ``--hint`` knows that they have been seen."""
    course.plugins("plugins.course", "plugins.hints")
    file = course.kata()
    everything = course.run(file, "--hint=all")
    after = course.run(file, "--hint")

    everything.stdout.fnmatch_lines(["Hint 1 of 3:*", "Hint 2 of 3:*", "Hint 3 of 3:*"])
    after.stdout.fnmatch_lines(["Hint 3 of 3:*"])


def test_a_hint_for_no_kata_shows_an_example(course: MiniCourse) -> None:
    """A whole lecture is too much to hint at."""
    course.plugins("plugins.course", "plugins.hints")
    course.kata()
    course.kata("k02_second")

    result = course.run("katas/lecture01", "--hint")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --hint wants the test file of one kata: pytest *"])


def test_hints_are_part_of_the_progress(course: MiniCourse) -> None:
    """The map counts those that were taken."""
    course.plugins("plugins.course", "plugins.hints")
    file = course.kata()
    before = course.run("--course").outlines[0]
    course.run(file, "--hint=all")

    assert "0 of 1 katas solved, 0 min spent" == before
    assert f"{before}, 3 hints taken" == course.run("--course").outlines[0]


def test_help_is_help(course: MiniCourse) -> None:
    """``--help`` beside ``--hint`` wins."""
    course.plugins("plugins.course", "plugins.hints")

    course.run("--hint", "--help").stdout.fnmatch_lines(["*--hint=[[]all[]]*"])
