"""The course is where its katas are, whatever folder pytest takes for its rootdir."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


KATA = "katas/lecture01/test_k01_first.py"
TEST = "from katas.lecture01.k01_first import answer\n\ndef test_it(): assert answer() == 1\n"
CRASH = "import os\n\ndef test_it(): os.abort()\n\ndef test_after(): pass\n"
EPISODE = "  listen  #* why strides fits"
# The options by which pytest takes another folder for its rootdir, and where it is started.
ELSEWHERE = {
    "rootdir": (["--rootdir={outside}"], "."),
    "settings": (["-c", "{outside}/other.ini"], "."),
    "parent": (["--rootdir={parent}"], ".."),
    "subfolder": (["--rootdir={outside}"], "katas"),
}


class Elsewhere:
    """A course, run in a folder with options that make another one the rootdir."""

    def __init__(self, course: MiniCourse, outside: Path, options: list[str], start: str) -> None:
        self.course, self.start = course, (course.path / start).resolve()
        self.others = [outside, course.path.parent, course.katas]
        self.options = [
            option.format(outside=outside, parent=course.path.parent) for option in options
        ]

    def path(self, name: str) -> str:
        """Return the path of a file of the course as a learner types it here."""
        return os.path.relpath(self.course.path / name, self.start)

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run pytest with these arguments; the first is a path in the course."""
        first, *more = arguments
        self.course.monkeypatch.chdir(self.start)
        return self.course.run(*self.options, self.path(first), *more)


@pytest.fixture(params=ELSEWHERE)
def elsewhere(course: MiniCourse, tmp_path: Path, request: pytest.FixtureRequest) -> Elsewhere:
    """Return a course of two katas for each way to get another rootdir."""
    course.imported = PYTEST
    course.kata(test=TEST, stub="def answer():\n    # TODO\n    raise NotImplementedError\n")
    course.kata("k02_second", CRASH)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "other.ini").write_text("[pytest]\n")
    return Elsewhere(course, outside, *ELSEWHERE[request.param])


def test_a_failure_has_its_path_its_episode_and_its_hint(elsewhere: Elsewhere) -> None:
    """The summary names the test by an argument that works, and so does the command for a hint."""
    result = elsewhere.run(KATA)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"FAILED {elsewhere.path(KATA)}::test_it*", EPISODE])
    result.stdout.fnmatch_lines([f"  hint    pytest {elsewhere.path(KATA)} --hint"])
    result.stdout.no_fnmatch_line("*broken:*")
    elsewhere.run(f"{KATA}::test_it").assert_outcomes(failed=1)
    elsewhere.run("katas", "-k", "k01").stdout.fnmatch_lines([EPISODE])


def test_progress_is_that_of_the_course(elsewhere: Elsewhere) -> None:
    """Nothing is stored anywhere else, and each command finds it."""
    elsewhere.run(f"{KATA}::test_it")
    elsewhere.course.write("katas/lecture01/k01_first.py", "def answer(): return 1\n")
    elsewhere.run(KATA, "--next").stdout.fnmatch_lines(["lecture01/k01_first is solved: *"])
    text = elsewhere.run(KATA, "--progress-json=-").stdout.str()

    assert "pass" == json.loads(text)["katas"][0]["status"]
    elsewhere.run(KATA, "--hint").stdout.fnmatch_lines(["Hint 1 of 3: the first hint"])
    elsewhere.run(KATA, "--hint").stdout.fnmatch_lines(["Hint 2 of 3: the second hint"])
    elsewhere.run(KATA, "--solution").stdout.fnmatch_lines(["k01_first.py: your answer on the *"])
    assert [] == [folder for folder in elsewhere.others if (folder / ".katas").exists()]


def test_the_map_and_the_page_are_those_of_the_course(elsewhere: Elsewhere) -> None:
    """The map is an option of the settings of the course, and unknown without them."""
    elsewhere.run(KATA, "--page", str(elsewhere.course.path / "page.md"))
    text = (elsewhere.course.path / "page.md").read_text(encoding="utf-8")
    assert "0 of 2 katas solved" in text
    assert "broken" not in text

    if "-c" not in elsewhere.options:
        result = elsewhere.run(KATA, "--course")
        result.stdout.fnmatch_lines(["> lecture01 *0 of 2", f"  pytest {elsewhere.path(KATA)} -x"])


def test_a_crash_is_one_failed_test(elsewhere: Elsewhere) -> None:
    """Also in a worker of xdist, whose death leaves the node id alone."""
    for options in ([], ["-n", "1"]):
        result = elsewhere.run("katas/lecture01/test_k02_second.py", *options)

        result.assert_outcomes(failed=1, passed=1)
        result.stdout.fnmatch_lines(["FAILED *test_k02_second.py::test_it*"])
        result.stdout.fnmatch_lines(["*test_k02_second.py:3: in test_it*"])


@pytest.mark.parametrize("start", [".", "katas", "katas/lecture01"])
def test_a_lecture_or_a_kata_goes_by_its_name(course: MiniCourse, start: str) -> None:
    """From any folder of the checkout, with any option."""
    course.imported = PYTEST
    course.kata(test=TEST, stub="def answer():\n    # TODO\n    raise NotImplementedError\n")
    course.kata("k02_second")
    course.monkeypatch.chdir(course.path / start)

    course.run("lecture01").assert_outcomes(failed=1, passed=1)
    course.run("lecture01/k02_second").assert_outcomes(passed=1)
    course.run("lecture01/k01").assert_outcomes(failed=1)
    course.run("lecture01", "--next").stdout.fnmatch_lines(["lecture01/k01_first: The title*"])
    course.run("lecture01/k01_first", "--hint").stdout.fnmatch_lines(["Hint 1 of 3: *"])
    course.run("lecture01/k03").stderr.fnmatch_lines(["ERROR: *not found: lecture01/k03"])
