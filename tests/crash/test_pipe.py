"""``pytest katas | head`` ends quietly, and fails no test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


# The first test waits until its reader is gone.
TESTS = """
from pathlib import Path
import sys
import time


def test_first():
    assert not sys.stdout.isatty()
    Path("began").touch()
    while not Path("go").exists():
        time.sleep(0.01)
    print("x" * 10_000, flush=True)


def test_second():
    Path("second").touch()
"""
QUIET = ("-p", "no:cacheprovider")
STATUSES = {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED}


def start_pytest(course: MiniCourse, *arguments: str, stdout: int) -> subprocess.Popen[str]:
    """Start pytest as a shell does; Python writes to a pipe in large pieces."""
    course.monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    command = [sys.executable, "-m", "pytest", *QUIET, *arguments]
    return subprocess.Popen(
        command, cwd=course.path, stdout=stdout, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("katas",),
        ("katas", "--next"),
        ("katas", "-n", "1"),
        ("katas", "--no-crashguard", "-s"),
        ("katas", "--collect-only"),
        ("katas/lecture01/test_k01_first.py", "--hint"),
        ("katas/lecture01/test_k01_first.py", "--solution=now"),
        ("katas", "--progress-json", "-"),
        ("--page", "page.md"),
        ("--course",),
        ("--help",),
        ("--markers",),
    ],
    ids=" ".join,
)
def test_a_closed_pipe_ends_quietly(course: MiniCourse, arguments: tuple[str, ...]) -> None:
    """Whatever writes, and if the reader never was there."""
    course.kata(test="def test_it(): pass\n")
    reader, writer = os.pipe()
    os.close(reader)
    with start_pytest(course, *arguments, stdout=writer) as process:
        os.close(writer)
        _, error = process.communicate()

    assert "" == error
    assert process.returncode in STATUSES
    assert "failed" not in outcomes(course).values()


@pytest.mark.parametrize(
    "options", [(), ("-s",), ("-n", "1"), ("--no-crashguard",), ("--next",)], ids=" ".join
)
def test_the_session_stops_where_it_is(course: MiniCourse, options: tuple[str, ...]) -> None:
    """The test that ran passes, even if it prints, and is remembered; the next is left out."""
    course.kata(test=TESTS)
    with start_pytest(course, "katas", *options, stdout=subprocess.PIPE) as process:
        assert process.stdout
        while not (course.path / "began").exists():
            time.sleep(0.01)
        process.stdout.close()
        (course.path / "go").touch()
        assert process.stderr
        error = process.stderr.read()

    assert "" == error
    assert process.returncode in STATUSES
    assert "passed" == outcomes(course).pop("test_first")
    # A worker does not wait until its report is written.
    if "-n" not in options:
        # --next writes nothing before the end.
        assert ("--next" in options) == (course.path / "second").exists()


def outcomes(course: MiniCourse) -> dict[str, str]:
    """Return what is remembered of each test."""
    found: dict[str, str] = {}
    for file in (course.path / ".katas/progress").rglob("*.json"):
        tests = json.loads(file.read_text())["results"]["tests"]
        found |= {name: test["verdict"] for name, test in tests.items()}
    return found
