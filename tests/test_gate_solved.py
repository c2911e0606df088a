"""The gate, second: every test of a kata passes with its solution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gate.forms import judge
from tests.gate.forms import per_kata


if TYPE_CHECKING:
    from plugins.layout import Kata
    from tests.gate.checks import Checks


pytestmark = pytest.mark.torch


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per kata."""
    per_kata(metafunc)


def test_the_solution_passes(checks: Checks, kata: Kata) -> None:
    """With the solution every test passes, or is skipped because of what is missing here."""
    judge(kata, checks.solved(kata))
