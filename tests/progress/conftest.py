"""``course``: its runs fork from a process that has imported pytest, and torch if they need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.warm import PYTEST
from tests.support.warm import TORCH


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


@pytest.fixture
def course(course: MiniCourse, request: pytest.FixtureRequest) -> MiniCourse:
    """Return an empty course, which need not import pytest and torch each time."""
    course.imported = TORCH if request.node.get_closest_marker("torch") else PYTEST
    return course
