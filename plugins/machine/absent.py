"""Skips what cannot run on this machine, and says at the end what that was and how to get it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.course import kata_of


if TYPE_CHECKING:
    from collections.abc import Iterable

    from plugins.capability import Capability


# A user property, because these survive xdist and stand in JUnit XML.
PROPERTY = "not run here"


def require(item: pytest.Item, capabilities: Iterable[Capability]) -> None:
    """Skip `item` for the first capability that is missing here; call it before fixtures."""
    for capability in capabilities:
        if capability.missing is None:
            continue
        reason = f"{capability.name}: {capability.missing}"
        # The project's own tests skip too, but no learner needs to read about them.
        if kata_of(item):
            item.user_properties.append((PROPERTY, reason))
        pytest.skip(reason)


def counted(reports: Iterable[pytest.TestReport]) -> dict[str, int]:
    """Return how many tests each reason kept from running, the reasons in alphabetical order."""
    reasons = [
        str(value)
        for report in reports
        for name, value in report.user_properties
        if name == PROPERTY
    ]
    return {reason: reasons.count(reason) for reason in sorted(set(reasons))}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show one entry per capability, from the reports, so that it holds for ``-n`` too."""
    counts = counted(terminalreporter.stats.get("skipped", []))
    if not counts:
        return
    terminalreporter.section("not run here")
    for reason, count in counts.items():
        name, _, why = reason.partition(": ")
        tests = "1 test" if count == 1 else f"{count} tests"
        terminalreporter.line(f"{name} ({tests}): {why}")
