"""``-p tests.tools_only`` keeps the tests that depend on a compiler or another tool.

`.ci/run` runs these on a machine without all that is optional; the others would pass there as they
do elsewhere. Of the katas it keeps the tests that need a backend other than torch's own, of the
project's own tests the modules that name a compiler or a tool; of a test for each lecture, the
lectures that have such a kata.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.parts import keep


TESTS = Path(__file__).parent
# The wings that build; tests of others name a compiler, a tool, or katas that are built.
WINGS = ("native", "cuda")
NAMES = re.compile(
    rf"\btool\(|\bbackend\(|plugins\.(?:{'|'.join(WINGS)})\b|lecture(?:04|09|11)\b|\bwhich\("
)
# Part of each wheel of torch, whatever else the machine has.
OF_TORCH = {"gloo"}
BACKENDS = re.compile(r"\bmark\.backend\((.*?)\)")
LECTURE = re.compile(r"\[(lecture\d+)\b")


@cache
def lectures_with_tools() -> frozenset[str]:
    """Return the lectures with a kata that needs a compiler or another tool."""
    return frozenset(
        file.parent.name
        for file in TESTS.parent.glob("katas/lecture*/test_k*.py")
        for names in BACKENDS.findall(file.read_text(encoding="utf-8"))
        if {name.strip('" ') for name in names.split(",")} - OF_TORCH
    )


@cache
def names_a_tool(module: Path) -> bool:
    """Whether a test module is about a compiler, a tool, or katas that are built."""
    return module.parent.name in WINGS or bool(NAMES.search(module.read_text(encoding="utf-8")))


def depends_on_tools(item: pytest.Item) -> bool:
    """Whether the result of a test may be another one on a machine with other tools."""
    if item.path.is_relative_to(TESTS):
        lecture = LECTURE.search(item.name)
        return names_a_tool(item.path) and (not lecture or lecture[1] in lectures_with_tools())
    return any(not OF_TORCH.issuperset(mark.args) for mark in item.iter_markers("backend"))


def pytest_report_header() -> str:
    """Say that this is a part."""
    return "part: the tests that depend on a compiler or another tool"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the other tests."""
    keep(config, items, depends_on_tools)
