"""``--solution``: the reference beside the learner's answer, and when it is shown."""

from __future__ import annotations

from datetime import UTC
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from plugins.layout import Kata
from plugins.memory import update
from plugins.reference import pairs
from plugins.reference import without_brief
from plugins.standing import Outcome
from plugins.standing import Results
from plugins.standing import content_of


if TYPE_CHECKING:
    from plugins.standing import Standing
    from tests.conftest import MiniCourse


MINE = '"""The brief.\n\nIt is long.\n"""\n\ndef twice(n):\n    return n + n\n'
REFERENCE = '"""Twice."""\n\ndef twice(n):\n    return 2 * n\n'
SOURCE = "// tier: small\n//\n// The brief.\n\nint twice(int n) { return n + n; }\n"
REFERENCE_SOURCE = "// tier: small\n\nint twice(int n) { return 2 * n; }\n"


@pytest.fixture
def kata(course: MiniCourse) -> Kata:
    """A kata with a C++ source and a Python module beside it."""
    course.plugins("plugins.course", "plugins.hints", "plugins.reference")
    course.kata(stub=SOURCE, solution=REFERENCE_SOURCE, csrc=("csrc/k01_first.cpp",))
    course.write("katas/lecture01/k01_first.py", MINE)
    course.write("katas/lecture01/solutions/k01_first.py", REFERENCE)
    sources = ("csrc/k01_first.cpp",)
    folder = course.katas / "lecture01"
    return Kata("lecture01", "k01_first", "", "cpp", (), (), (), (), (), (), sources, folder)


def remember(course: MiniCourse, kata: Kata, *outcomes: Outcome) -> None:
    """Let the tests of a kata have ended so."""
    tests = {str(number): outcome for number, outcome in enumerate(outcomes)}
    run = Results(content_of(kata), tests, len(tests))

    def change(standing: Standing) -> Standing:
        return standing.after(run, 1.0, datetime.now(UTC))

    update(course.path, kata, change)


def test_a_solved_kata_stands_beside_its_reference(course: MiniCourse, kata: Kata) -> None:
    """Each file on its own, without the brief, in the width of the terminal."""
    remember(course, kata, Outcome("passed"))
    result = course.run("katas/lecture01/test_k01_first.py", "--solution")
    lines = result.outlines

    assert 0 == result.ret
    assert [line for line in lines if line] == [
        "lecture01/k01_first: The title of k01_first",
        "csrc/k01_first.cpp: your answer on the left, the reference on the right",
        f"{'int twice(int n) { return n + n; }':38} | int twice(int n) {{ return 2 * n; }}",
        "k01_first.py: your answer on the left, the reference on the right",
        f"{'def twice(n):':38}   def twice(n):",
        f"{'    return n + n':38} |     return 2 * n",
    ]
    course.monkeypatch.setenv("COLUMNS", "120")
    wide = course.run("--solution", "katas/lecture01/test_k01_first.py").outlines
    assert f"{'    return n + n':58} |     return 2 * n" in wide


def test_what_is_not_solved_asks_first(course: MiniCourse, kata: Kata) -> None:
    """With the tests that pass, and the two commands; an edit after a success counts too."""
    file = "katas/lecture01/test_k01_first.py"
    results = [course.run(file, "--solution")]
    remember(course, kata, Outcome("passed"), Outcome("failed"))
    results.append(course.run(file, "--solution"))

    assert [1, 1] == [result.ret for result in results]
    assert results[0].outlines[0] == (
        "lecture01/k01_first is not solved yet: its tests have not passed as it is now."
    )
    assert [line for line in results[1].outlines if line] == [
        "lecture01/k01_first is not solved yet: 1 of 2 tests pass.",
        f"  Run them:               pytest {file} -x",
        f"  The reference at once:  pytest {file} --solution=now",
    ]


def test_now_means_now(course: MiniCourse, kata: Kata) -> None:
    """Nothing is imported; what was removed has an empty side, what is the same is not shown."""
    kata.exercise.unlink()
    course.write("katas/lecture01/k01_first.py", f"{REFERENCE}\n")
    result = course.run("katas/lecture01/test_k01_first.py", "--solution=now")

    assert 0 == result.ret
    result.stdout.fnmatch_lines([f"{'':38} > int twice(int n) {{ return 2 * n; }}"])
    result.stdout.fnmatch_lines(["k01_first.py: *", "They are the same."])


def test_a_file_without_a_reference_is_left_out(course: MiniCourse, kata: Kata) -> None:
    """It came with the exercise, and there is nothing to write in it."""
    (course.katas / "lecture01/solutions/k01_first.py").unlink()

    assert ["csrc/k01_first.cpp"] == [name for name, _, _ in pairs(kata)]


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
    course.plugins("plugins.course", "plugins.hints", "plugins.reference")

    course.run("--solution", "--help").stdout.fnmatch_lines(["*--solution=[[]now[]]*"])


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('"""One."""\nx = 1\n', "x = 1\n"),
        ('r"""One\n\ntwo\n"""\n\n\nx = """\n"""\n', 'x = """\n"""\n'),
        (
            "// tier: small\n//\n// A brief.\n\n#include <a>\n// a comment\n",
            "#include <a>\n// a comment\n",
        ),
        ("// nothing else", ""),
        ("x = 1\n", "x = 1\n"),
        ("", ""),
    ],
)
def test_the_brief_is_left_out(text: str, rest: str) -> None:
    """The learner has read it, and the reference has none."""
    assert rest == without_brief(text)
