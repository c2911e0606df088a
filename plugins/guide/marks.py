"""Refuses a kata's test module whose marks make no steps, when it is collected.

The gate refuses it as well, by the same rules; this is what the author of a kata sees first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.course.session import course_key
from plugins.guide.steps import function_of
from plugins.guide.steps import read_marked
from plugins.guide.steps import wrong_steps


if TYPE_CHECKING:
    from collections.abc import Generator
    from collections.abc import Iterable
    from collections.abc import Mapping


OTHERWISE = (
    "{} has a step that its text does not show: write @pytest.mark.step above the test itself, "
    "with its number and title, or with a name of the module for both"
)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let the collection of a kata's tests fail if their marks make no steps."""
    report = yield
    course = collector.config.stash[course_key]
    mine = isinstance(collector, pytest.Module) and course.kata_of(collector.path)
    # Most modules have no steps, and need not be read.
    if report.passed and mine and (counts := count_marks(report.result)):
        text = collector.path.read_text(encoding="utf-8")
        if lines := refused_marks(text, counts):
            report.outcome, report.result = "failed", []
            report.longrepr = "\n".join(f"{collector.path.name}: {line}" for line in lines)
    return report


def count_marks(nodes: Iterable[pytest.Item | pytest.Collector]) -> dict[str, int]:
    """Return how many marks put a test in a step, by the test's function; none are left out."""
    counts = {function_of(node.nodeid): len([*node.iter_markers("step")]) for node in nodes}
    return {test: count for test, count in counts.items() if count}


def refused_marks(text: str, counts: Mapping[str, int]) -> list[str]:
    """Return what is wrong with the steps of a module with this text, as `count_marks` counts."""
    tests = read_marked(text)
    said = {test.test: len(test.marks) for test in tests}
    others = [test for test, count in counts.items() if count != said.get(test)]
    return [*wrong_steps(tests), *(OTHERWISE.format(test) for test in others)]
