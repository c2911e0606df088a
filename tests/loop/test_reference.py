"""``--solution``: the reference beside the learner's answer, and when it is shown."""

from __future__ import annotations

from datetime import UTC
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from plugins.course.files import content_of
from plugins.course.model import Kata
from plugins.guide.definitions import pair_files
from plugins.loop.reference import reference_lines
from plugins.progress.standing import Results
from plugins.progress.standing import TestOutcome
from plugins.progress.store import change_standing
from tests.support.fork import git


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.progress.standing import Standing
    from tests.conftest import MiniCourse


MINE = (
    '"""The brief.\n\nIt is long.\n"""\n\ndef given():\n    """Mine."""\n\n'
    "def twice(n):\n    return n + n\n"
)
REFERENCE = (
    '"""Twice."""\n\ndef given():\n    """The other."""\n\n'
    'def twice(n):\n    """Double."""\n    return 2 * n\n'
)
SOURCE = "// tier: small\n//\n// The brief.\n\nint twice(int n) { return n + n; }\n"
REFERENCE_SOURCE = "// tier: small\n\nint twice(int n) { return 2 * n; }\n"


@pytest.fixture
def kata(course: MiniCourse) -> Kata:
    """A kata with a C++ source and a Python module beside it."""
    course.plugins("plugins.course.session", "plugins.loop.hint", "plugins.loop.reference")
    course.kata(stub=SOURCE, solution=REFERENCE_SOURCE, csrc=("csrc/k01_first.cpp",))
    course.write("katas/lecture01/k01_first.py", MINE)
    course.write("katas/lecture01/solutions/k01_first.py", REFERENCE)
    sources = ("csrc/k01_first.cpp",)
    folder = course.katas / "lecture01"
    return Kata("lecture01", "k01_first", "", "cpp", (), (), (), (), (), (), sources, folder)


def remember(course: MiniCourse, kata: Kata, *outcomes: TestOutcome) -> None:
    """Let the tests of a kata have ended so."""
    tests = {str(number): outcome for number, outcome in enumerate(outcomes)}
    run = Results(content_of(kata), tests, len(tests))

    def change(standing: Standing) -> Standing:
        return standing.after(run, 1.0, datetime.now(UTC))

    change_standing(course.path, kata, change)


def test_a_solved_kata_stands_beside_its_reference(course: MiniCourse, kata: Kata) -> None:
    """Each file on its own, without brief and docstrings, in the width of the terminal."""
    remember(course, kata, TestOutcome("passed"))
    result = course.run("katas/lecture01/test_k01_first.py", "--solution")
    lines = result.outlines

    assert 0 == result.ret
    assert [line for line in lines if line] == [
        "lecture01/k01_first: The title of k01_first",
        "csrc/k01_first.cpp: your answer on the left, the reference on the right",
        f"{'int twice(int n) { return n + n; }':38} | int twice(int n) {{ return 2 * n; }}",
        "The full reference: katas/lecture01/solutions/csrc/k01_first.cpp",
        "k01_first.py: your answer on the left, the reference on the right",
        "twice",
        f"{'return n + n':38} | return 2 * n",
        "The full reference: katas/lecture01/solutions/k01_first.py",
    ]
    course.monkeypatch.setenv("COLUMNS", "120")
    wide = course.run("--solution", "katas/lecture01/test_k01_first.py").outlines
    assert f"{'return n + n':58} | return 2 * n" in wide


def test_what_is_not_solved_asks_first(course: MiniCourse, kata: Kata) -> None:
    """With the number of tests that pass, and the two commands."""
    file = "katas/lecture01/test_k01_first.py"
    results = [course.run(file, "--solution")]
    remember(course, kata, TestOutcome("passed"), TestOutcome("failed"))
    results.append(course.run(file, "--solution"))

    assert [1, 1] == [result.ret for result in results]
    assert results[0].outlines[:2] == [
        "lecture01/k01_first is not solved yet: its tests have not passed with your",
        "current answer.",
    ]
    assert [line for line in results[1].outlines if line] == [
        "lecture01/k01_first is not solved yet: 1 of 2 tests pass.",
        f"  Run them:               pytest {file} -x",
        f"  The reference at once:  pytest {file} --solution=now",
    ]


def test_what_is_not_decided_here_asks_first(course: MiniCourse, kata: Kata) -> None:
    """With what is missing, and the command that shows the reference all the same."""
    file = "katas/lecture01/test_k01_first.py"
    remember(course, kata, TestOutcome("passed"), TestOutcome("skipped", "torchx: none; get one"))
    result = course.run(file, "--solution")

    assert 1 == result.ret
    assert [line for line in result.outlines if line] == [
        "lecture01/k01_first is not decided here: 1 test passes, 1 waits for torchx:",
        "  none; get one",
        f"  Run them:               pytest {file} -x",
        f"  The reference at once:  pytest {file} --solution=now",
    ]


@pytest.mark.parametrize(
    ("test", "says"),
    [
        (
            "def test_a(): pass\ndef test_b(): assert 0\ndef test_c(): pass",
            "1 of 3 tests pass",
        ),
        ("def test_a(:", "its tests have not passed with your current answer"),
    ],
    ids=["stopped", "broken"],
)
def test_a_run_that_stopped_counts_all_tests(course: MiniCourse, test: str, says: str) -> None:
    """``-x`` ended it at the first failure; a module that cannot be imported has no number."""
    course.kata(test=test)
    course.run("katas", "-x")
    said = " ".join(course.run("katas/lecture01/test_k01_first.py", "--solution").outlines)

    assert said.startswith(f"lecture01/k01_first is not solved yet: {says}. ")


def test_now_means_now(course: MiniCourse, kata: Kata) -> None:
    """A removed file has an empty side, and equal files are not shown."""
    kata.exercise.unlink()
    course.write("katas/lecture01/k01_first.py", f"{REFERENCE}\n")
    result = course.run("katas/lecture01/test_k01_first.py", "--solution=now")

    assert 0 == result.ret
    result.stdout.fnmatch_lines([f"{'':38} > int twice(int n) {{ return 2 * n; }}"])
    result.stdout.fnmatch_lines(["k01_first.py: the same as the reference"])


def test_a_file_without_a_reference_is_left_out(course: MiniCourse, kata: Kata) -> None:
    """It came with the exercise, and there is nothing to write in it."""
    (course.katas / "lecture01/solutions/k01_first.py").unlink()

    assert ["k01_first.cpp"] == [file.name for file, _, _ in pair_files(kata)]


def test_it_wants_one_kata(course: MiniCourse, kata: Kata) -> None:
    """A lecture has too many."""
    course.kata("k02_second")
    assert kata.test.exists()
    result = course.run("katas/lecture01", "--solution")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --solution wants the test file of one kata: pytest *"])


def test_a_name_that_does_not_exist_is_answered_for_this_option(
    course: MiniCourse, kata: Kata
) -> None:
    """Not for ``--hint``, which reads names the same way."""
    assert kata.test.exists()
    result = course.run("--solution", "katas/lecture77/test_k09_none.py")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --solution: *"])


def test_help_is_help(course: MiniCourse) -> None:
    """``--help`` beside ``--solution`` wins."""
    course.plugins("plugins.course.session", "plugins.loop.hint", "plugins.loop.reference")

    course.run("--solution", "--help").stdout.fnmatch_lines(["*--solution=[[]now[]]*"])


def test_what_was_given_is_left_out(course: MiniCourse) -> None:
    """Git's history has the stub: what was written like the reference is named all the same."""
    course.plugins("plugins.course.session", "plugins.loop.hint", "plugins.loop.reference")
    stub = "def given(): return 1\n\ndef one():\n    raise NotImplementedError\n\ntwo = None\n"
    right = stub.replace("raise NotImplementedError", "return 1").replace("None", "2")
    course.kata(stub=stub, solution=right)
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "The course"]):
        git(course.path, *command)
    answer = right.replace("two = 2", "two = 1 + 1\nmore = 3")
    course.write("katas/lecture01/k01_first.py", answer)
    shown = course.run("katas/lecture01/test_k01_first.py", "--solution=now").outlines

    assert [line.rstrip() for line in shown if line][1:-1] == [
        "k01_first.py: your answer on the left, the reference on the right",
        "one: the same as the reference",
        f"{'two = 1 + 1':38} | two = 2",
        f"{'more = 3':38} <",
    ]
    course.write("katas/lecture01/k01_first.py", right)
    same = course.run("katas/lecture01/test_k01_first.py", "--solution=now").outlines
    assert ["one, two: the same as the reference"] == [line for line in same if "the same" in line]


def test_a_lecture_of_another_package_has_no_path_in_the_course(kata: Kata, tmp_path: Path) -> None:
    """So it is not named."""
    lines = [line.text for line in reference_lines(kata, tmp_path / "elsewhere", 80)]

    assert [] == [line for line in lines if line.startswith("The full reference")]
    assert [line for line in lines if line.startswith("k01_first.py: ")]
