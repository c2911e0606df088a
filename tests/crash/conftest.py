"""Fixtures of the tests of plugins/crash/: a course whose katas crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.crashes import build_faults
from tests.support.crashes import set_limits
from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


@pytest.fixture
def course(course: MiniCourse) -> MiniCourse:
    """Return an empty course, which need not import pytest each time."""
    course.imported = PYTEST
    return course


@pytest.fixture(scope="session")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of native faults."""
    return build_faults(tmp_path_factory.mktemp("faults"))


@pytest.fixture
def kata(course: MiniCourse, faults: Path) -> MiniCourse:
    """A course with limits of two seconds and some 400 MiB."""
    set_limits(course, faults)
    return course
