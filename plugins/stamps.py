"""Writes on every report of a kata which content of the exercise it speaks of.

Whoever reads the report may be another process than the one that ran the test, and the exercise
may have been edited meanwhile.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

from plugins.course import course_key
from plugins.course import kata_of
from plugins.standing import content_of


if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


# The kata, the digest of the content that was tested, and how many tests there are.
STAMP = "kata_stamp"
Stamp = tuple[str, str, "int | None"]

contents_key = pytest.StashKey[dict[str, str]]()
totals_key = pytest.StashKey["dict[str, int | None]"]()


def pytest_configure(config: pytest.Config) -> None:
    """Begin with nothing."""
    config.stash[contents_key] = {}
    config.stash[totals_key] = {}


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> None:
    """Note what the exercise holds before it is imported: it may be edited meanwhile."""
    if kata := parent.config.stash[course_key].kata_of(module_path):
        parent.config.stash[contents_key][kata.id] = content_of(kata)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count each kata's tests, before ``-k`` and ``-m`` take some away."""
    named = {argument.partition("::")[0] for argument in config.args if "::" in argument}
    parts = {(config.invocation_params.dir / path).resolve() for path in named}
    partly = bool(config.getoption("lf", default=False))
    counts = defaultdict[str, int](int)
    for item in items:
        if kata := kata_of(item):
            counts[kata.id] += 1
            whole = not partly and item.path not in parts
            config.stash[totals_key][kata.id] = counts[kata.id] if whole else None


def stamp_of(node: pytest.Item | pytest.Collector) -> Stamp | None:
    """Return the kata of `node`, the content that is tested, and how many tests there are."""
    kata = node.config.stash[course_key].kata_of(node.path)
    if kata is None or kata.id not in node.config.stash[contents_key]:
        return None
    total = node.config.stash[totals_key].get(kata.id)
    return kata.id, node.config.stash[contents_key][kata.id], total


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Write on the report of an import what only the process that did it knows."""
    report = yield
    setattr(report, STAMP, stamp_of(collector))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Likewise of a test."""
    report = yield
    setattr(report, STAMP, stamp_of(item))
    return report
