"""A course of one good kata for the tests of the gate, and the warm process that runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gate.runner import Runner
from tests.support.smallkata import Small


if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import MiniCourse


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    """Return one warm process for all katas."""
    # Workers of xdist share the cores already.
    with Runner(1) as runner:
        yield runner


@pytest.fixture
def small(course: MiniCourse, runner: Runner) -> Small:
    """Return the course of one good kata."""
    return Small(course, runner)
