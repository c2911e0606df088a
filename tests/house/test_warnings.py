"""What a learner is warned of is theirs: not PyTorch's own modules, and not our look-ups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins import HERE


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


TEST = """
import warnings

import torch.utils.mkldnn

def test_it():
    warnings.warn("old", DeprecationWarning)
"""


@pytest.mark.torch
def test_only_what_a_learner_can_change_is_reported(course: MiniCourse) -> None:
    """The module defines scripted methods, which are deprecated; a kata's own warning is shown."""
    course.kata(test=TEST)
    course.run("katas/lecture01").assert_outcomes(passed=1, warnings=1)


ESCAPE = """
import numpy

PATTERN = "\\d"

def f():
    # TODO: write it
    raise NotImplementedError
"""
IMPORTS = """
from katas.lecture01.k01_first import PATTERN
from plugins.kit import forbids

PATTERN = "\\w"

def test_it():
    from katas.lecture01 import k01_first
    with forbids(k01_first, "numpy.fft"):
        pass
"""


def test_a_file_that_is_read_by_us_warns_where_it_is_imported(
    course: MiniCourse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By Python, or pytest: we look for its imports, its names and its steps without a word."""
    course.kata(test=IMPORTS, stub=ESCAPE)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    result = course.run("katas/lecture01", "-W", "always")

    assert 1 == result.parseoutcomes()["passed"]
    told = [line for line in result.outlines if "invalid escape" in line]
    assert ["k01_first.py:4:", "test_k01_first.py:5:"] == sorted(
        line.strip().split()[0].rpartition("/")[2] for line in told
    )
    assert "" == result.stderr.str()


def test_no_module_of_ours_parses_python_in_its_own_way() -> None:
    """`parse_python` keeps Python's warnings of the text to itself."""
    others = [
        file.relative_to(HERE).as_posix()
        for file in HERE.rglob("*.py")
        if "ast.parse(" in file.read_text(encoding="utf-8")
    ]

    assert ["tools/text.py"] == others
