"""What a learner reads where `pytest.raises` waits for an error that does not come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.guide.unraised import block_at
from tests.support.failures import PLUGINS


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


TESTS = """
from contextlib import nullcontext

import pytest

def tame(*values):
    return values

def test_with():
    with nullcontext(), pytest.raises(ValueError, match="too large"):
        tame(
            1,
            2,
        )

def test_a_call():
    pytest.raises(KeyError, tame, 3)

def test_words_of_its_own():
    with pytest.raises(ValueError):
        pytest.fail("tame(4) is refused")
"""
WITHS = """\
with one:
    with (
        two,
    ):
        call()  # why

        other()
"""


@pytest.mark.parametrize(
    ("number", "block"),
    [
        (1, "with (\n    two,\n):\n    call()  # why\n\n    other()"),
        (3, "call()  # why\n\nother()"),
        (5, ""),
        (8, ""),
    ],
)
def test_the_block_of_a_with(number: int, block: str) -> None:
    """The line is one of the head's; a line within the block is none, and no source has none."""
    source = WITHS.splitlines(keepends=True)

    assert block == block_at(source, number)
    assert "" == block_at([], number)


def test_the_call_is_named(course: MiniCourse) -> None:
    """With its lines; `pytest.raises` as a function and messages of a test's own stay."""
    course.write("conftest.py", f"pytest_plugins = {PLUGINS!r}")
    course.kata(test=TESTS)
    result = course.run("--all-failures")

    result.stdout.fnmatch_lines(
        [
            "E * DID NOT RAISE ValueError; this ended without an error:",
            "E  *     tame(",
            "E  *         1,",
            "E  *         2,",
            "E  *     )",
            "E * DID NOT RAISE KeyError",
            "E * tame(4) is refused",
        ]
    )
    result.stdout.no_fnmatch_line("*KeyError;*")
