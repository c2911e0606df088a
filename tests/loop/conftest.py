"""``three``: a course of three katas, run by the plugins of ``--next``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.threekatas import PLUGINS
from tests.support.threekatas import write_three
from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


@pytest.fixture
def course(course: MiniCourse) -> MiniCourse:
    """Return an empty course, which need not import pytest each time."""
    course.imported = PYTEST
    return course


@pytest.fixture
def three(course: MiniCourse) -> MiniCourse:
    """Return a course of two lectures with three katas."""
    course.plugins(*PLUGINS)
    write_three(course)
    return course
