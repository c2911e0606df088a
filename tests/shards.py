"""``--shard 2/4`` runs one of four parts of the project's own tests, which take equally long.

A module is never divided, since its tests share builds.
``--store-times`` writes the times of a run to tests/times.json, from which the parts are made.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.tools.files import write_whole


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping

TIMES = Path(__file__).with_name("times.json")
SHARD = re.compile(r"([1-9]\d*)/([1-9]\d*)")


def add_options(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("katas")
    group.addoption(
        "--shard", metavar="N/OF", default="1/1", help="Run one part of the project's own tests."
    )
    group.addoption(
        "--store-times",
        action="store_true",
        help=f"Write how long each module took into {TIMES.name}.",
    )


def shards(units: Iterable[str], times: Mapping[str, float], count: int) -> list[set[str]]:
    """Divide the units: the longest first, each to the part with the least to do so far.

    A unit without a time counts as an average one.
    """
    units = sorted(set(units))
    known = [times[unit] for unit in units if unit in times]
    average = sum(known) / len(known) if known else 1.0
    found: list[set[str]] = [set() for _ in range(count)]
    loads = [0.0] * count
    for unit in sorted(units, key=lambda unit: -times.get(unit, average)):
        least = loads.index(min(loads))
        found[least].add(unit)
        loads[least] += times.get(unit, average)
    return found


def part_of(text: str) -> tuple[int, int]:
    """Return the number of the part and the number of parts."""
    match = SHARD.fullmatch(text)
    if not match or int(match[1]) > int(match[2]):
        raise pytest.UsageError(f"--shard wants a part such as 2/4, found {text!r}")
    return int(match[1]), int(match[2])


def unit_of(nodeid: str) -> str:
    """Return the unit of a test: its module."""
    return nodeid.partition("::")[0]


def read_times() -> dict[str, float]:
    """Return the stored seconds of each unit."""
    return json.loads(TIMES.read_text()) if TIMES.exists() else {}


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests of the other parts, and put the units that take longest first.

    Then no processor waits long for the last one. A unit without a time comes before all; the
    tests of a unit stay together, in their order.
    """
    times = read_times()
    number, count = part_of(config.getoption("shard", "1/1"))
    mine = shards((unit_of(item.nodeid) for item in items), times, count)[number - 1]
    others = [item for item in items if unit_of(item.nodeid) not in mine]
    if others:
        items[:] = [item for item in items if unit_of(item.nodeid) in mine]
        config.hook.pytest_deselected(items=others)
    items.sort(key=lambda item: -times.get(unit_of(item.nodeid), float("inf")))


class Times:
    """Adds up the time of each unit of a run and stores it; other units keep their times."""

    def __init__(self) -> None:
        self.seconds = defaultdict[str, float](float)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Add its unit to the reports of a test."""
        item.user_properties.append(("unit", unit_of(item.nodeid)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase of a test."""
        unit = dict(report.user_properties).get("unit", report.nodeid.partition("::")[0])
        self.seconds[str(unit)] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Store the sums; an xdist worker only sends its reports."""
        if not hasattr(session.config, "workerinput"):
            times = {**read_times(), **{name: round(t, 1) for name, t in self.seconds.items()}}
            text = json.dumps(dict(sorted(times.items())), indent=2)
            write_whole(TIMES, f"{text}\n".encode(), TIMES.parent)
