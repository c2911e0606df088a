"""``-p tests.domains`` keeps the tests that compare with a domain library, and skips none.

These libraries go with one torch each, and some of them, from PyPI, with CUDA builds alone. So
they have an environment of their own (`tox -e domains`), where each has to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.parts import keep


if TYPE_CHECKING:
    from collections.abc import Generator


LIBRARIES = frozenset({"torchvision", "torchaudio", "pycocotools", "torchrl", "torchrec"})


def compares(item: pytest.Item) -> bool:
    """Whether a test needs a domain library."""
    return any(not LIBRARIES.isdisjoint(mark.args) for mark in item.iter_markers("backend"))


def pytest_report_header() -> str:
    """Say that this is a part."""
    return f"part: the tests that compare with {', '.join(sorted(LIBRARIES))}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the other tests."""
    keep(config, items, compares)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a test fail that is skipped: here the library should be."""
    report = yield
    if report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be missing: {report.longrepr}"
    return report
