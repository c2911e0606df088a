"""The gate, first: before a kata is solved, every test of it is red for the right reason."""

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


def test_every_test_is_red(checks: Checks, kata: Kata) -> None:
    """With the untouched exercise every test fails in its call, by what the stub raises."""
    judge(kata, checks.unsolved(kata))
