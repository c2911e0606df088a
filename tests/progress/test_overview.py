"""``--course``: the map, from what is stored; no kata is run or imported."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


HEAVY = ("torch", "numpy", "hypothesis", "plugins.crash.plugin")


def test_the_map_follows_the_learner(course: MiniCourse) -> None:
    """It changes with the first run, and when the kata is solved."""
    test = "from katas.lecture01.k01_first import x\ndef test(): assert x"
    course.kata("k01_first", test, stub="x = 0")
    course.kata("k02_second", "def test(): assert False")
    maps = [course.run("--course").outlines]
    course.run("katas/lecture01/test_k01_first.py")
    maps.append(course.run("--course").outlines)
    course.write("katas/lecture01/k01_first.py", "x = 100")
    course.run("katas/lecture01/test_k01_first.py")
    maps.append(course.run("--course").outlines)

    assert ["0 of 2", "0 of 2", "1 of 2"] == [text[0][:6] for text in maps]
    assert [text[3].split()[:2] for text in maps] == [[">", "k01_first"]] * 2 + [
        ["k01_first", "The"]
    ]
    assert "0 of 1 pass" in maps[1][3]
    assert [text[-1].strip() for text in maps] == [
        "pytest katas/lecture01/test_k01_first.py -x",
        "pytest katas/lecture01/test_k01_first.py -x",
        "pytest katas/lecture01/test_k02_second.py -x",
    ]


def test_the_map_counts_all_tests_of_a_run_that_stopped(course: MiniCourse) -> None:
    """Not one of one; a module that cannot be imported has none to count."""
    tests = "def test_a(): assert False\n" + "".join(f"def test_{n}(): pass\n" for n in range(19))
    course.kata("k01_first", tests)
    course.kata("k02_second", "def test(")
    course.run("katas/lecture01/test_k01_first.py", "-x")
    course.run("katas/lecture01/test_k02_second.py")
    text = course.run("--course").outlines

    assert "0 of 20 pass" in text[3]
    assert "import fails" in text[4]


def test_nothing_is_imported_and_nothing_runs(course: MiniCourse) -> None:
    """Neither the katas, nor torch, nor the plugins that a session needs."""
    course.kata(test="raise ValueError('it is imported')", stub="raise ValueError")
    course.write("conftest.py", "raise ValueError('it is loaded')")
    code = (
        "import sys, pytest\ntry: pytest.main(['--course'])\nfinally: print(*sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=course.path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (done.returncode, done.stderr)
    assert not set(HEAVY) & set(done.stdout.splitlines()[-1].split())


def test_help_wins(course: MiniCourse) -> None:
    """``--course --help`` explains the option."""
    assert "--course" in course.run("--course", "--help").stdout.str()


def test_a_broken_lecture_is_named(course: MiniCourse) -> None:
    """The others stay on the map."""
    course.kata()
    course.write("katas/lecture02/lecture.toml", "title =")
    result = course.run("--course")

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["> lecture01 *", "broken: *lecture02*"])


@pytest.mark.parametrize(("encoding", "bar"), [("utf-8", "░"), ("ascii", r"\.")])
def test_the_bar_is_what_the_terminal_can_show(
    course: MiniCourse, monkeypatch: pytest.MonkeyPatch, encoding: str, bar: str
) -> None:
    """A pipe whose encoding is not UTF-8 gets ASCII."""
    course.kata()
    monkeypatch.setenv("PYTHONIOENCODING", encoding)

    assert re.search(bar * 14, course.run("--course").stdout.str())


PATHS = """
[[path]]
name = "short"
title = "A short way"
about = "For those in a hurry."
katas = ["lecture01/k01_first", "lecture02/k01_third"]
"""


def test_the_map_of_a_path(course: MiniCourse) -> None:
    """It has the path's katas alone, with their lectures, and the command that goes on."""
    course.kata("k01_first", "def test(): pass")
    course.kata("k02_second")
    course.kata("k01_third", lecture="lecture02")
    course.write("katas/paths.toml", PATHS)
    course.run("katas/lecture01/test_k01_first.py")

    assert [
        "A short way: For those in a hurry.",
        "1 of 2 katas solved",
        "",
        "    lecture01/k01_first  The title of k01_first  solved  0 min",
        "  > lecture02/k01_third  The title of k01_third",
        "",
        "Next, lecture02/k01_third:",
        "  pytest katas --next --path short",
    ] == course.run("--course", "--path", "short").outlines


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (PATHS, "ERROR: --path: no path is called 'long'; the nearest: short"),
        ("", "ERROR: --path: * path: expected an array of tables, found nothing"),
        (None, "ERROR: --path: no path is called 'long': katas/paths.toml is missing"),
    ],
    ids=["unknown", "broken", "missing"],
)
def test_a_path_that_is_unknown_is_refused(course: MiniCourse, text: str | None, says: str) -> None:
    """With the names of those that exist."""
    course.kata("k01_first")
    course.kata("k01_third", lecture="lecture02")
    if text is not None:
        course.write("katas/paths.toml", text)
    result = course.run("--course", "--path", "long")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([says])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pty")
def test_on_a_terminal_the_map_fits_the_screen(course: MiniCourse) -> None:
    """With ``-v``, and in a pipe, it is whole."""
    pexpect = pytest.importorskip("pexpect")
    for number in range(1, 15):
        for kata in range(1, 10 if number == 7 else 3):
            course.kata(f"k{kata:02}_kata", lecture=f"lecture{number:02}")
    lines = []
    for more in ([], ["-v"]):
        command = ["-m", "pytest", "--course", *more]
        child = pexpect.spawn(
            sys.executable, command, cwd=str(course.path), dimensions=(18, 80), encoding="utf-8"
        )
        lines.append(child.read().splitlines())
        child.close()

    assert [17, len(course.run("--course").outlines)] == [len(each) for each in lines]
    assert "-v shows all" in "".join(lines[0])


COUNT = """
import sys
from pathlib import Path

opened = []
sys.addaudithook(lambda name, arguments: opened.append(1) if name == "open" else None)

from plugins.course.lectures import read_course
from plugins.progress.overview import print_map

root = Path.cwd()
print_map(root, root, read_course(sorted((root / "katas").glob("lecture*/"))))
begun = len(opened)
print_map(root, root, read_course(sorted((root / "katas").glob("lecture*/"))))
print(len(opened) - begun)
"""


def test_a_larger_course_costs_in_proportion(course: MiniCourse) -> None:
    """Ten times the katas open at most eleven times the files."""
    counts = []
    for first, last in ((0, 3), (3, 30)):
        for number in range(first, last):
            course.kata(f"k{number:02}_kata", lecture=f"lecture{number // 10:02}")
        done = subprocess.run(
            [sys.executable, "-c", COUNT],
            cwd=course.path,
            capture_output=True,
            text=True,
            check=True,
        )
        counts.append(int(done.stdout.splitlines()[-1]))

    assert counts[1] <= 11 * counts[0], f"{counts} files were opened"
