"""Warnings from PyTorch's own modules are not shown to a learner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


pytestmark = pytest.mark.torch
TEST = """
import warnings

import torch.utils.mkldnn

def test_it():
    warnings.warn("old", DeprecationWarning)
"""


def test_only_what_a_learner_can_change_is_reported(course: MiniCourse) -> None:
    """The module defines scripted methods, which are deprecated; a kata's own warning is shown."""
    course.kata(test=TEST)
    course.run("katas/lecture01").assert_outcomes(passed=1, warnings=1)
