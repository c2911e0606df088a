"""The gate, fifth: the tests of a kata notice nearly every small change of its solution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gate.forms import in_time
from tests.gate.forms import judge
from tests.gate.forms import need
from tests.gate.forms import per_kata
from tests.gate.mutation import mutate


if TYPE_CHECKING:
    from plugins.layout import Kata
    from tests.gate.checks import Checks


pytestmark = pytest.mark.torch


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per kata."""
    per_kata(metafunc)


def test_mutants_are_killed(
    pytestconfig: pytest.Config, checks: Checks, gate_started: float, kata: Kata
) -> None:
    """At least 95 % of the one-edit mutants fail a test; those listed as equivalent do not."""
    in_time(pytestconfig, gate_started, kata)
    need(checks, kata)
    if reason := checks.lacks(kata):
        pytest.skip(f"mutants of what only skipped tests judge would survive: {reason}")
    full = pytestconfig.getoption("gate") == "full"
    judge(kata, list(mutate(checks, kata, full=full).problems))
