"""The gate, last: a lecture's tests pass in any order and with any seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gate.forms import per_lecture
from tests.gate.repeats import repeats


if TYPE_CHECKING:
    from plugins.layout import Lecture
    from tests.gate.checks import Checks


pytestmark = pytest.mark.torch
# Two take no longer than one on two cores.
TIMES = {"quick": 2, "full": 20}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per lecture."""
    per_lecture(metafunc)


def test_no_repeat_fails(pytestconfig: pytest.Config, checks: Checks, lecture: Lecture) -> None:
    """Mixed and seeded anew each time, the solved lecture passes again and again."""
    found = repeats(checks, lecture.katas, TIMES[pytestconfig.getoption("gate")])
    lines = [f"{kata}: {line}" for kata, lines in found.items() for line in lines]

    assert not lines, "\n\n".join(lines)
