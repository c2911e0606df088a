"""The gate, third: the named test is the first to reject each wrong answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gate.forms import in_time
from tests.gate.forms import judge
from tests.gate.forms import need
from tests.gate.forms import per_wrong_answer


if TYPE_CHECKING:
    from plugins.layout import Kata
    from tests.gate.answers import Wrong
    from tests.gate.checks import Checks


pytestmark = pytest.mark.torch


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per kata and wrong answer; tests/test_katas.py counts them."""
    per_wrong_answer(metafunc)


def test_the_named_test_rejects_it(
    pytestconfig: pytest.Config, checks: Checks, gate_started: float, kata: Kata, answer: Wrong
) -> None:
    """Laid over the kata, the wrong answer fails in the test that it names and none before."""
    in_time(pytestconfig, gate_started, kata)
    need(checks, kata)
    if reason := checks.left_out(kata, answer):
        pytest.skip(reason)
    judge(kata, checks.wrong(kata, (answer,))[0])
