"""Other plugins of the learner's environment: what is promised of a kata holds beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.failures import PLUGINS
from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


LAB = "import pytest\n" + "\n".join(
    f"@pytest.mark.step({number}, 'title {number}')\ndef test_{name}(): assert {number} > 2\n"
    for number, name in enumerate(("d", "b", "e", "a", "c"), 1)
)
TESTS = "def test_b(): pass\ndef test_a(): pass\n"
SHUFFLES = """
import pytest

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.nodeid.rpartition("_")[2])
    yield
"""
REVERSES = """
def pytest_collection_modifyitems(items):
    items.reverse()
"""
ADDS = """
import pytest

def pytest_collection_modifyitems(items):
    class Check(pytest.Item):
        def runtest(self): pass
    module = items[0].parent
    items[:] = [Check.from_parent(module, name="check"), *reversed(items)]
"""
# Another terminal, as pytest-sugar and pytest-pretty bring one.
REPORTER = """
def pytest_configure():
    print("another terminal")
"""


@pytest.fixture
def katas(course: MiniCourse) -> MiniCourse:
    """A course of a lab and a kata, in an environment with other plugins."""
    course.imported = PYTEST
    course.plugins(*PLUGINS, "plugins.guide.neighbours")
    course.path_first(course.path / "site")
    course.kata("k01_first", LAB)
    course.kata("k02_second", TESTS)
    course.write("tests/test_other.py", "def test_x(): pass\ndef test_y(): pass\n")
    course.write("site/shuffles.py", SHUFFLES)
    course.write("site/reverses.py", REVERSES)
    course.write("site/adds.py", ADDS)
    course.write("site/pytest_sugar.py", REPORTER)
    course.write("site/pytest_pretty.py", REPORTER)
    return course


def names(result: pytest.RunResult) -> list[str]:
    """Return the tests in the order in which they ran."""
    return [line.split()[0].rpartition("::")[2] for line in result.outlines if "%]" in line]


@pytest.mark.parametrize("plugin", ["shuffles", "reverses"])
def test_the_tests_of_a_kata_keep_their_order(katas: MiniCourse, plugin: str) -> None:
    """They stand together, and those of no kata where they were put."""
    result = katas.run("-v", "-p", plugin, "katas", "tests")

    lab, second = [f"test_{letter}" for letter in "dbeac"], ["test_b", "test_a"]
    others = ["test_x", "test_y"]
    # Each kata where the plugin puts its first test.
    expected = {
        "shuffles": [*lab, *second, *others],
        "reverses": [*reversed(others), *second, *lab],
    }
    assert expected[plugin] == names(result)


def test_a_lab_fails_at_its_first_step(katas: MiniCourse) -> None:
    """Whoever shuffles."""
    result = katas.run("-p", "shuffles", "katas")

    result.assert_outcomes(failed=2, passed=5)
    failed = [line.strip("_ ") for line in result.outlines if line.startswith("____")]
    assert ["test_d"] == failed
    result.stdout.fnmatch_lines(["  step 1 of 5: title 1", "  step 2: 1 more test waits"])


def test_what_a_plugin_adds_comes_behind(katas: MiniCourse) -> None:
    """It has no place in the order of the kata."""
    result = katas.run("-v", "-p", "adds", "katas/lecture01/test_k02_second.py")

    assert ["test_b", "test_a", "check"] == names(result)


def test_pytest_s_own_order_is_asked_for(katas: MiniCourse) -> None:
    """By ``--failed-first``."""
    katas.kata("k02_second", "def test_b(): pass\ndef test_a(): assert 0\n")
    katas.run("katas/lecture01/test_k02_second.py")

    result = katas.run("-v", "--ff", "katas/lecture01/test_k02_second.py")

    assert ["test_a", "test_b"] == names(result)


def test_another_terminal_is_off(katas: MiniCourse) -> None:
    """It would show each failure; a line says so, unless all are asked for."""
    one = katas.run("-p", "pytest_sugar", "katas")
    both = katas.run("-p", "pytest_sugar", "-p", "pytest_pretty", "katas")
    whole = katas.run("-p", "pytest_sugar", "-v", "katas")

    for result, named in ((one, "pytest-sugar"), (both, "pytest-pretty and pytest-sugar")):
        assert "another terminal" not in result.stdout.str()
        line = f"katas: without {named}, as a kata shows one failing test; -v shows all, and by it"
        assert line in result.outlines
    assert "another terminal" in whole.outlines
    assert "katas: without" not in whole.stdout.str()


def test_what_is_asked_for_is_told(katas: MiniCourse) -> None:
    """``--instafail`` shows each failure at once, which its user wants."""
    option = "def pytest_addoption(parser): parser.addoption('--instafail', action='store_true')"
    katas.write("site/instafail.py", option)

    told = katas.run("-p", "instafail", "--instafail", "katas")
    plain = katas.run("-p", "instafail", "katas")

    line = "katas: --instafail shows each failure at once, a kata's others too"
    assert line in told.outlines
    assert line not in plain.outlines
