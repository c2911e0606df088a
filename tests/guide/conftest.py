"""``course``: its runs fork from a process that has imported pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


@pytest.fixture
def course(course: MiniCourse) -> MiniCourse:
    """Return an empty course, which need not import pytest each time."""
    course.imported = PYTEST
    return course
