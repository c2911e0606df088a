"""Collection, and the garbage collector that would look at all of torch."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


def test_tests_are_collected_without_the_garbage_collector(course: MiniCourse) -> None:
    """They run with it, and what was collected stays out of its way."""
    course.plugins("plugins.course.session", "plugins.course.collector")
    test = """
    import gc

    WHILE_COLLECTED = gc.isenabled()

    def test_it():
        assert not WHILE_COLLECTED
        assert gc.isenabled()
        assert 0 < gc.get_freeze_count()
        assert not any(each is test_it for each in gc.get_objects())
    """
    course.kata(test=test)

    course.run().assert_outcomes(passed=1)


def test_the_garbage_collector_runs_again_after_an_interrupted_collection(
    course: MiniCourse,
) -> None:
    """Whatever else happens in the process."""
    code = """
    import gc
    import pytest

    pytest_plugins = ("plugins.course.session", "plugins.course.collector")

    def pytest_collection_modifyitems():
        raise pytest.UsageError("no tests today")

    def pytest_unconfigure():
        print("enabled:", gc.isenabled())
    """
    course.write("conftest.py", code)
    course.kata()

    course.run("-s").stdout.fnmatch_lines(["enabled: True"])
