"""Skips tests that cannot run on this machine, and reports how to get what they need."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

import pytest

from plugins.course.notes import found_key
from plugins.course.session import kata_of


if TYPE_CHECKING:
    from collections.abc import Iterable

    from plugins.tools.capability import Capability


# A user property: xdist sends these to the controller, and JUnit XML has them.
PROPERTY = "not run here"
WIDTH = 80


def require(item: pytest.Item, capabilities: Iterable[Capability]) -> None:
    """Skip `item` for the first missing capability; called before fixtures are set up."""
    for capability in capabilities:
        if capability.missing is None:
            # What is stored of other tests that were skipped without it is out of date.
            item.stash.setdefault(found_key, []).append(capability.name)
            continue
        reason = f"{capability.name}: {capability.missing}"
        # A learner need not read that the project's own tests skip.
        if kata_of(item):
            item.user_properties.append((PROPERTY, reason))
        pytest.skip(reason)


def count_skips_by_reason(
    reports: Iterable[pytest.TestReport | pytest.CollectReport],
) -> dict[str, int]:
    """Return the number of skipped tests by reason, in alphabetical order.

    A whole module that is skipped has a report of its collection, without properties.
    """
    reasons = [
        str(value)
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == PROPERTY
    ]
    return {reason: reasons.count(reason) for reason in sorted(set(reasons))}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List each missing capability once, from the reports: ``-n`` has them too."""
    counts = count_skips_by_reason(terminalreporter.stats.get("skipped", []))
    if not counts:
        return
    terminalreporter.section("not run here")
    for reason, count in counts.items():
        name, _, why = reason.partition(": ")
        tests = "1 test" if count == 1 else f"{count} tests"
        for line in wrap_entry(f"{name} ({tests}): {why}"):
            terminalreporter.line(line)


def wrap_entry(text: str) -> list[str]:
    """Return an entry in lines of at most 80 columns; the remedy after a ``;`` begins one.

    It is copied more easily so, and an address or an option stays whole.
    """
    lines: list[str] = []
    for part in [text] if len(text) <= WIDTH else re.split(r"(?<=;) ", text):
        lines += textwrap.wrap(
            part,
            WIDTH,
            initial_indent="  " if lines else "",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines
