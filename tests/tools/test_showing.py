"""Options that show something: which ones, and how they write a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.tools.showing import SHOWS
from plugins.tools.showing import write_for


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


ASKS = """
from plugins.tools.showing import shows_only

def pytest_configure(config):
    print("shows only:", shows_only(config))
"""
LISTS = """
def pytest_configure(config):
    print("options:", *vars(config.option))
"""
CONFIGURES = """
import pytest
from plugins.tools.showing import configured

@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    with configured(config):
        print("inside")
    print("after")
    return 0

def pytest_configure(config):
    print("configured")

def pytest_unconfigure(config):
    print("unconfigured")
"""


def test_the_options_that_only_show_something_exist(course: MiniCourse) -> None:
    """A misspelt name among them would be ignored."""
    conftest = (course.path / "conftest.py").read_text()
    course.write("conftest.py", f"{conftest}\n{LISTS}")

    result = course.run("-s", "--collect-only")

    (names,) = (line for line in result.outlines if line.startswith("options: "))
    assert set(SHOWS) <= set(names.split())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], False),
        (["--collect-only"], True),
        (["--cache-show"], True),
        (["--fixtures-per-test"], True),
        (["--setup-show"], False),
        (["-k", "nothing"], False),
    ],
)
def test_a_session_that_runs_no_test_shows_only(
    course: MiniCourse, arguments: list[str], *, expected: bool
) -> None:
    """It needs none of the plugins that define the course's own options."""
    course.write("conftest.py", ASKS)
    course.kata()

    result = course.run("-s", *arguments)

    result.stdout.fnmatch_lines([f"shows only: {expected}"])


def test_a_session_that_shows_a_hint_shows_only(course: MiniCourse) -> None:
    """So does one with any other of the course's own options."""
    course.write("conftest.py", f"pytest_plugins = ('plugins.loop.hint',)\n{ASKS}")
    course.kata()

    result = course.run("-s", "--hint", "lecture01/k01")

    result.stdout.fnmatch_lines(["shows only: True"])


def test_plugins_are_configured_and_unconfigured(course: MiniCourse) -> None:
    """An option can report through pytest's own reporter without a session."""
    course.write("conftest.py", CONFIGURES)

    result = course.run("-s")

    assert ["configured", "inside", "unconfigured", "after"] == result.outlines


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    """The half-written copy is in the file's own folder, where no state folder is wanted."""
    file = tmp_path / "page.md"
    write_for("--page", file, "größer\n")

    assert "größer\n" == file.read_text(encoding="utf-8")
    assert [file] == list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """With the option and the system's reason, in one line."""
    file = tmp_path / "folder"
    file.mkdir()

    with pytest.raises(pytest.UsageError, match=rf"^--page: {file}: Is a directory$"):
        write_for("--page", file, "text")
