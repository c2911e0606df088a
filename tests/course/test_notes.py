"""What one wing notes on a test or on the configuration, for others."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


def test_the_devices_of_a_test_are_those_among_its_marks(course: MiniCourse) -> None:
    """Other marks are none, and without declared devices no test has one."""
    code = """
    from plugins.course.notes import devices_key, devices_of

    pytest_plugins = ("plugins.course.session",)

    def pytest_configure(config):
        config.addinivalue_line("markers", "abacus: a device")

    def pytest_collection_modifyitems(config, items):
        print("none:", *map(devices_of, items))
        config.stash[devices_key] = ("cpu", "abacus")
        print("some:", *map(devices_of, items))
    """
    course.write("conftest.py", code)
    course.kata(
        test="""
    import pytest

    @pytest.mark.given
    @pytest.mark.abacus
    def test_it():
        pass
    """
    )

    course.run("-s").stdout.fnmatch_lines(["none: []", "some: ['abacus']"])
