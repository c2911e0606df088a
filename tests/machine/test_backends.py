"""The marker ``backend``: which tests run, which are skipped, and which names are errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


DECLARE = """
from plugins.tools.capability import Capability

pytest_plugins = ("plugins.course.session", "plugins.machine.absent", "plugins.machine.backends")


def pytest_kata_backends():
    return [Capability("here", lambda: None), Capability("gone", lambda: "it left; call it back")]
"""


@pytest.fixture
def course(course: MiniCourse) -> MiniCourse:
    """Return a course with two backends, one of them missing."""
    course.write("conftest.py", DECLARE)
    course.imported = PYTEST
    return course


def test_a_test_runs_if_all_its_backends_are_here(course: MiniCourse) -> None:
    """Those named on its module, on its class and on itself."""
    course.kata(
        test="""
        import pytest

        pytestmark = pytest.mark.backend("here")

        def test_here(): pass

        @pytest.mark.backend("gone")
        def test_gone(): pass

        @pytest.mark.backend("gone", "here")
        class TestClass:
            def test_gone_too(self): pass
        """
    )

    result = course.run("-v")

    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(["*::test_here PASSED*", "gone (2 tests): it left; call it back"])


def test_a_missing_backend_skips_before_any_fixture(course: MiniCourse) -> None:
    """A module's autouse fixture that needs the backend is never set up."""
    course.kata(
        test="""
        import pytest

        @pytest.fixture(autouse=True, scope="module")
        def build(): raise OSError("no compiler")

        @pytest.mark.backend("gone")
        def test_gone(): pass
        """
    )

    course.run().assert_outcomes(skipped=1)


def test_an_unknown_backend_is_an_error(course: MiniCourse) -> None:
    """Collection fails on every machine, and lists the known names."""
    course.kata(
        test="""
        import pytest

        @pytest.mark.backend("hear")
        def test_typo(): pass
        """
    )

    result = course.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*::test_typo: backend('hear'): expected one or more of gone, here"]
    )


def test_unittest_classes_have_backends_too(course: MiniCourse) -> None:
    """They are skipped too; an unknown name fails at setup, as pytest does not parametrize them."""
    course.kata(
        test="""
        import pytest
        from unittest import TestCase

        class TestOld(TestCase):
            @pytest.mark.backend("gone")
            def test_gone(self): pass

            @pytest.mark.backend("hear")
            def test_typo(self): pass
        """
    )

    result = course.run()

    result.assert_outcomes(skipped=1, errors=1)
    result.stdout.fnmatch_lines(["*backend('hear'): expected one or more of gone, here"])


def test_the_marker_is_documented(course: MiniCourse) -> None:
    """``pytest --markers`` names every backend."""
    course.run("--markers").stdout.fnmatch_lines(["@pytest.mark.backend(name, ...): * gone, here."])
