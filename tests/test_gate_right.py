"""The gate, fourth: a solution written in another way is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gate.forms import gate_of
from tests.gate.forms import judge
from tests.gate.forms import need
from tests.gate.forms import per_lecture
from tests.gate.forms import per_right_answer


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.layout import Kata
    from plugins.layout import Lecture
    from tests.gate.checks import Checks


pytestmark = pytest.mark.torch


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per alternative solution, and one per lecture that looks for one."""
    (per_right_answer if "answer" in metafunc.fixturenames else per_lecture)(metafunc)


def test_every_test_accepts_it(checks: Checks, kata: Kata, answer: Path) -> None:
    """Laid over the kata, the alternative solution passes every test."""
    need(checks, kata)
    judge(kata, checks.right(kata, answer))


def test_a_lecture_has_one(pytestconfig: pytest.Config, lecture: Lecture) -> None:
    """At least one kata of each lecture is solved in a second way."""
    gate = gate_of(pytestconfig)
    if not any(gate.right(kata) for kata in lecture.katas):
        pytest.fail(
            f"tests/right/{lecture.name}/ has no kNN_name.py for a kata of the lecture: solve "
            f"one of them in another way and put the whole file there",
            pytrace=False,
        )
