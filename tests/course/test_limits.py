"""The seconds and the memory that a test of a kata may take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.course.limits import allowance
from plugins.tools.processes import usable_memory
from plugins.tools.processes import usable_processors


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


# The ranks of a test share the memory.
PRINTS = """
pytest_plugins = ("plugins.course.limits",)

def pytest_configure(config):
    from plugins.course.limits import memory_limit, time_limit

    print("seconds:", time_limit(config))
    print("bytes:", memory_limit(config), memory_limit(config, 4))
"""


@pytest.fixture
def printed(course: MiniCourse) -> MiniCourse:
    """A course whose session prints its limits, and that has no settings of its own."""
    course.write("conftest.py", PRINTS)
    course.write("pyproject.toml", "[tool.pytest]\nstrict = true\n")
    return course


def test_there_are_limits_without_a_setting(printed: MiniCourse) -> None:
    """A minute, and half of the memory that this process can use."""
    half = usable_memory() // 2

    printed.run("-s").stdout.fnmatch_lines(["seconds: 60.0", f"bytes: {half} {half // 4}"])


def test_settings_change_the_limits(printed: MiniCourse) -> None:
    """On the command line or in pyproject.toml."""
    result = printed.run("-s", "-o", "kata_timeout=2.5", "-o", "kata_memory=100%")

    whole = usable_memory()
    result.stdout.fnmatch_lines(["seconds: 2.5", f"bytes: {whole} {whole // 4}"])


def test_zero_is_no_limit(printed: MiniCourse) -> None:
    """Of either kind."""
    result = printed.run("-s", "-o", "kata_timeout=0", "-o", "kata_memory=0%")

    result.stdout.fnmatch_lines(["seconds: None", "bytes: 0 0"])


def test_workers_are_as_many_as_the_processors(printed: MiniCourse) -> None:
    """Those that this process can use, which may be fewer than the machine has."""
    printed.kata(test="def test_it(): pass\n")

    result = printed.run("-n", "auto")

    result.assert_outcomes(passed=1)
    many = usable_processors()
    result.stdout.fnmatch_lines([f"{many} worker{'s' * (many > 1)} [[]1 item]"])


@pytest.mark.parametrize("option", ["--pdb", "--trace"])
def test_a_debugger_has_all_the_time(printed: MiniCourse, option: str) -> None:
    """A person reads and thinks there; the memory is limited as before."""
    half = usable_memory() // 2

    result = printed.run("-s", option)

    result.stdout.fnmatch_lines(["seconds: None", f"bytes: {half} {half // 4}"])


def test_a_wrong_share_is_one_line(printed: MiniCourse) -> None:
    """With the setting and what it expects."""
    result = printed.run("-o", "kata_memory=4 GB")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: kata_memory: expected a share such as 50%, found '4 GB'"])


def test_the_mark_is_declared(printed: MiniCourse) -> None:
    """Strict settings refuse a mark that is not."""
    printed.kata(test="import pytest\n@pytest.mark.time_limit(5)\ndef test_it(): pass\n")

    printed.run().assert_outcomes(passed=1)
    printed.run("--markers").stdout.fnmatch_lines(["@pytest.mark.time_limit(seconds): *"])


@pytest.mark.parametrize(
    ("text", "processes", "expected"),
    [("50%", 1, 500), (" 50% ", 2, 250), ("100%", 3, 333), ("0%", 1, 0)],
)
def test_memory_is_shared_by_processes(text: str, processes: int, expected: int) -> None:
    """Each gets the same part of the share of the machine's."""
    assert expected == allowance(text, 1000, processes)


@pytest.mark.parametrize("text", ["4", "", "%", "1000%", "-5%", "50 %", "5.5%"])
def test_a_share_is_a_whole_percentage(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match=rf"^kata_memory: .* as 50%, found '{text}'$"):
        allowance(text, 1000)
