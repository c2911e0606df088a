"""A lecture that another package has installed: how it is named, run, asked about and shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from tests.support.installed import INSTALLED
from tests.support.installed import SOLUTION
from tests.support.installed import WRONG
from tests.support.installed import install_package
from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


@pytest.fixture
def course(course: MiniCourse, tmp_path: Path) -> MiniCourse:
    """Return a course of one kata, in an environment with the package."""
    course.imported = PYTEST
    # As for the command `pytest`: the working directory is not on sys.path.
    (course.path / "plugins").symlink_to(ROOT / "plugins")
    course.monkeypatch.setenv("PYTHONSAFEPATH", "1")
    install_package(tmp_path / "site")
    course.monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    course.kata(test="def test_of_the_course(): pass")
    return course


@pytest.fixture
def exercise(tmp_path: Path) -> Path:
    """The installed exercise."""
    return tmp_path / "site" / INSTALLED


@pytest.mark.parametrize(
    "arguments",
    [
        ["lecture77"],
        ["lecture77/k01_root"],
        ["lecture77/test_k01_root.py"],
        ["--pyargs", "some_roots"],
        ["--pyargs", "some_roots.lecture77"],
        ["--pyargs", "some_roots.lecture77.test_k01_root"],
        ["lecture77", "-n", "1"],
        ["--pyargs", "some_roots.lecture77", "-n", "1"],
        ["--rootdir=/tmp", "lecture77"],
    ],
    ids=" ".join,
)
def test_it_is_run_by_its_name(course: MiniCourse, arguments: list[str]) -> None:
    """Or by its module; the node ids are arguments too, and the same everywhere."""
    result = course.run(*arguments, "--all-failures")

    result.assert_outcomes(failed=2)
    failed = re.findall(r"^FAILED (\S+)", result.stdout.str(), re.MULTILINE)
    assert [f"lecture77/test_k01_root.py::test_{name}" for name in ("four", "nine")] == failed
    course.run(failed[1]).assert_outcomes(failed=1)
    # The id of the whole module counts as one, as does what is left out by a prefix of it.
    course.run("lecture77", "--deselect", failed[1]).assert_outcomes(failed=1, deselected=1)


def test_its_commands_work_as_printed(course: MiniCourse) -> None:
    """The hint, the whole kata, the reference and what is next."""
    text = course.run("lecture77").stdout.str()
    (whole,) = re.findall(r"All failures: pytest (.*)", text)
    assert 2 == course.run(*whole.split()).stdout.str().count("\nFAILED ")
    (hint,) = set(re.findall(r"hint +pytest (.*)", text))
    course.run(*hint.split()).stdout.fnmatch_lines(["Hint 1 of 3: the first hint"])
    course.run("--hint=lecture77/k01_root").stdout.fnmatch_lines(["Hint 2 of 3: *"])
    arguments = ["--pyargs", "some_roots.lecture77.test_k01_root", "--hint"]
    course.run(*arguments).stdout.fnmatch_lines(["Hint 3 of 3: *"])

    text = course.run("lecture77/k01_root", "--solution").stdout.str()
    again, now = re.findall(r"  pytest (.*)", text)
    course.run(*again.split()).assert_outcomes(failed=1)
    course.run(*now.split()).stdout.fnmatch_lines(["k01_root.py: your answer on the left, *"])

    course.run("katas").assert_outcomes(passed=1)
    (following,) = re.findall(r"^  pytest (.*)", course.run("--course").stdout.str(), re.MULTILINE)
    course.run(*following.split()).assert_outcomes(failed=1)


def test_it_is_run_from_a_subfolder(course: MiniCourse) -> None:
    """The summary shows the paths from there."""
    course.monkeypatch.chdir(course.katas)

    text = course.run("lecture77").stdout.str()
    (failed,) = re.findall(r"^FAILED (\S+)", text, re.MULTILINE)
    course.run(failed).assert_outcomes(failed=1)


def test_the_loop_shows_the_line_to_edit(course: MiniCourse, exercise: Path) -> None:
    """As pytest's tracebacks name the file; solved, it stays solved."""
    exercise.write_text(WRONG)
    result = course.run("lecture77", "--next")
    result.stdout.fnmatch_lines(["edit    *k01_root.py:2", "test    test_nine", "*not yet*"])

    exercise.write_text(SOLUTION)
    result = course.run("lecture77", "--next")
    (command,) = re.findall(r"the reference: pytest (.*)", result.stdout.str())
    course.run(*command.split()).stdout.fnmatch_lines(["k01_root.py: the same as the reference"])
    assert ["lecture77"] == [it.name for it in (course.path / ".katas/progress").glob("lecture7*")]


def test_a_crash_in_it_is_one_failed_test(course: MiniCourse, exercise: Path) -> None:
    """Also in a worker of xdist: all that is left of it is the node id."""
    exercise.write_text(f"import os\n{SOLUTION}    os.abort()\n".replace("return", "x =="))
    for options in ([], ["-n", "1"]):
        result = course.run("lecture77", *options)

        result.assert_outcomes(failed=2)
        result.stdout.fnmatch_lines(["*SIGABRT*"])
        result.stdout.fnmatch_lines(["FAILED lecture77/test_k01_root.py::test_four*"])
        result.stdout.fnmatch_lines(["lecture77/k01_root: The square root", "  listen  *"])
    # Both tests, each by the name that it had.
    text = course.run("lecture77", "--progress-json=-").stdout.str()
    assert ['"test_four"', '"test_nine"'] == re.findall(r'"name": (".*")', text)


def test_the_reference_and_the_stub_are_proved(course: MiniCourse) -> None:
    """As those of the course, although the package is imported from elsewhere."""
    course.run("lecture77", "--solutions").assert_outcomes(passed=2)
    course.run("lecture77", "--unsolved").assert_outcomes(xfailed=2)


def test_junit_xml_has_the_same_names_everywhere(course: MiniCourse) -> None:
    """Not those of the folders that the environment lies in."""
    course.run("lecture77", "--junit-xml=report.xml")

    text = (course.path / "report.xml").read_text()
    assert ["lecture77.test_k01_root"] * 2 == re.findall(r'classname="(.*?)"', text)


def test_another_project_of_the_environment_knows_nothing_of_it(
    course: MiniCourse, tmp_path: Path
) -> None:
    """Pytest loads the plugin there too, and refuses hooks that are not optional."""
    course.monkeypatch.delenv("PYTHONSAFEPATH")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/test_other.py").write_text("def test_other(): pass\n")
    course.monkeypatch.chdir(tmp_path / "other")

    course.run().assert_outcomes(passed=1)
    plugin = tmp_path / "site/some_roots/plugin.py"
    plugin.write_text(plugin.read_text().replace("optionalhook=True", ""))
    course.run().stdout.fnmatch_lines(["*unknown hook 'pytest_kata_lectures'*"])
