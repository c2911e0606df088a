"""The section "not run here" at the end of a session."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from plugins.machine.absent import wrap_entry
from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


DECLARE = """
from plugins.tools.capability import Capability

pytest_plugins = ("plugins.course.session", "plugins.machine.absent", "plugins.machine.backends")


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
    course.imported = PYTEST
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
    """With its number of tests, the reason and the remedy, under every reporting option."""
    course.kata(test=TESTS)

    assert SUMMARY == summary(course.run(*options))


def test_a_long_entry_is_wrapped(course: MiniCourse) -> None:
    """It fits a terminal of 80 columns, and the remedy can be copied."""
    cause, remedy = "and so no kernel, " * 5, "python -m pip install tvm, which brings"
    why = f"no TVM, {cause}can be made; {remedy}"
    course.write("conftest.py", DECLARE.replace("no TVM; install it", why))
    course.kata(test=TESTS)

    course.run().stdout.fnmatch_lines(
        [
            "tvm (3 tests): no TVM, and so no kernel, and so no kernel, and so no kernel, and",
            "  so no kernel, and so no kernel, can be made;",
            f"  {remedy}",
        ],
        consecutive=True,
    )


def test_what_cannot_be_broken_stays_whole() -> None:
    """An address that is longer than a line can still be copied."""
    address = f"https://{'x' * 90}-y"

    assert ["tvm (1 test): see", f"  {address}"] == wrap_entry(f"tvm (1 test): see {address}")


def test_several_katas_share_the_entry(course: MiniCourse) -> None:
    """The entry counts the tests of the whole session."""
    course.kata("k01_first", test=TESTS)
    course.kata("k02_second", test=TESTS)

    assert ["ark (2 tests): no ark", "tvm (6 tests): no TVM; install it"] == summary(course.run())


def test_a_module_that_skips_itself_is_left_out(course: MiniCourse) -> None:
    """It is skipped while it is collected, and the others are counted."""
    course.kata(test=TESTS)
    course.write("test_other.py", "import pytest\npytest.importorskip('no_such_module')\n")

    assert SUMMARY == summary(course.run("."))


def test_nothing_is_said_if_nothing_is_missing(course: MiniCourse) -> None:
    """A test that skips itself adds no section."""
    course.kata(test=TESTS)

    result = course.run("-k", "test_skips_itself")

    result.assert_outcomes(skipped=1, deselected=4)
    result.stdout.no_fnmatch_line("*not run here*")


def test_the_projects_own_tests_are_not_mentioned(course: MiniCourse) -> None:
    """They are skipped without an entry."""
    course.write("tests/test_own.py", TESTS)

    result = course.run("tests")

    result.assert_outcomes(skipped=5)
    result.stdout.no_fnmatch_line("*not run here*")


def test_the_reason_is_in_the_junit_file(course: MiniCourse) -> None:
    """As a property, from which a service can add up what its machines lack."""
    course.kata(test=TESTS)

    course.run("--junitxml=report.xml", "-k", "test_ark")

    report = ET.parse(course.path / "report.xml")  # noqa: S314 - our own file
    properties = [(node.get("name"), node.get("value")) for node in report.iter("property")]
    assert [("not run here", "ark: no ark")] == properties
