"""The profiler's log stays out of a failure; what the learner writes to stderr is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.machine.profiler import NOTHING
from plugins.machine.profiler import VARIABLE
from tests.support.warm import PYTEST
from tests.support.warm import TORCH


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


SHOW = f"""
import os


def test_it():
    assert False, os.environ.get("{VARIABLE}")
"""
PROFILED = """
import sys
import torch
from torch.autograd.profiler import profile


def test_it():
    with profile() as found:
        torch.ones(2) + 1
    print("of my own", file=sys.stderr)
    assert [] == found.key_averages()
"""


@pytest.fixture
def course(course: MiniCourse) -> MiniCourse:
    """Return an empty course in which only the profiler's log is kept quiet."""
    course.plugins("plugins.course.session", "plugins.machine.profiler")
    course.imported = PYTEST
    return course


@pytest.mark.torch
def test_a_failure_does_not_show_it(course: MiniCourse) -> None:
    """Below "Captured stderr" stands the learner's line alone."""
    course.imported = TORCH
    course.kata(test=PROFILED)

    result = course.run()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*- Captured stderr call -*", "of my own"])
    result.stdout.no_fnmatch_line("*USDT*")
    result.stdout.no_fnmatch_line("*profiler_*.cpp*")


def test_a_level_that_was_asked_for_stays(course: MiniCourse) -> None:
    """Someone may want to read the log."""
    course.kata(test=SHOW)
    quiet = course.run()
    course.monkeypatch.setenv(VARIABLE, "0")
    asked = course.run()

    quiet.stdout.fnmatch_lines([f"E*AssertionError: {NOTHING}"])
    asked.stdout.fnmatch_lines(["E*AssertionError: 0"])


def test_the_environment_is_as_before_afterwards(course: MiniCourse) -> None:
    """A program that runs pytest in its own process keeps its environment."""
    course.kata(test="def test_it(): pass")
    program = f"import os, pytest; pytest.main(['katas']); print({VARIABLE!r} in os.environ)"

    result = course.pytester.run("python", "-c", program)

    result.stdout.fnmatch_lines(["*1 passed*", "False"])
