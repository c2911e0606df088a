"""What the end of a session says of the tests that could not run on this machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


DECLARE = """
from plugins.capability import Capability

pytest_plugins = ("plugins.course", "plugins.absent", "plugins.backends")


def pytest_kata_backends():
    return [Capability("tvm", lambda: "no TVM; install it"), Capability("ark", lambda: "no ark")]
"""
TESTS = """
import pytest


@pytest.mark.backend("tvm")
@pytest.mark.parametrize("n", [1, 2, 3])
def test_tvm(n): pass


@pytest.mark.backend("ark")
def test_ark(): pass


def test_skips_itself(): pytest.skip("for a reason of its own")
"""
SUMMARY = ["ark (1 test): no ark", "tvm (3 tests): no TVM; install it"]


@pytest.fixture
def course(course: MiniCourse) -> MiniCourse:
    """Return a course with two missing backends."""
    course.write("conftest.py", DECLARE)
    return course


def summary(result: pytest.RunResult) -> list[str]:
    """Return the entries of the section."""
    return [line for line in result.outlines if re.match(r"\w+ \(\d+ tests?\): ", line)]


@pytest.mark.parametrize(
    "options",
    [[], ["-q"], ["-qq"], ["--tb=no"], ["-n2"], ["-x"], ["--no-header", "-rN"]],
    ids=lambda options: "".join(options) or "plain",
)
def test_each_capability_is_named_once(course: MiniCourse, options: list[str]) -> None:
    """With the number of its tests, the reason and how to get it, whatever else is shown."""
    course.kata(test=TESTS)

    assert SUMMARY == summary(course.run(*options))


def test_several_katas_share_the_entry(course: MiniCourse) -> None:
    """The count is that of the session."""
    course.kata("k01_first", test=TESTS)
    course.kata("k02_second", test=TESTS)

    assert ["ark (2 tests): no ark", "tvm (6 tests): no TVM; install it"] == summary(course.run())


def test_nothing_is_said_if_nothing_is_missing(course: MiniCourse) -> None:
    """A test that skips itself is none of our business."""
    course.kata(test=TESTS)

    result = course.run("-k", "test_skips_itself")

    result.assert_outcomes(skipped=1, deselected=4)
    result.stdout.no_fnmatch_line("*not run here*")


def test_the_projects_own_tests_are_not_mentioned(course: MiniCourse) -> None:
    """They are skipped all the same."""
    course.write("tests/test_own.py", TESTS)

    result = course.run("tests")

    result.assert_outcomes(skipped=5)
    result.stdout.no_fnmatch_line("*not run here*")


def test_the_reason_is_in_the_junit_file(course: MiniCourse) -> None:
    """As a property, so that a service can add up what its machines lack."""
    course.kata(test=TESTS)

    course.run("--junitxml=report.xml", "-k", "test_ark")

    report = ET.parse(course.path / "report.xml")  # noqa: S314 - our own file
    properties = [(node.get("name"), node.get("value")) for node in report.iter("property")]
    assert [("not run here", "ark: no ark")] == properties
