"""``--shard 2/4`` runs one of four parts of the project's own tests, of about the same time.

A module is never divided, since its tests share what was built; of the gate it is a kata that is
not. The times stand in tests/times.json, where ``--store-times`` writes those of a run.
With ``-n 2 --dist loadgroup`` each worker takes such a part.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from xdist.scheduler import LoadScopeScheduling

from plugins.wholefile import write_whole


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping

    from xdist.remote import Producer

TIMES = Path(__file__).with_name("times.json")
GATE = "test_gate"
OF_A_KATA = re.compile(r"\[(lecture\d\d(?:/k\d\d_[a-z0-9_]+)?)")
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
    """Divide the units: the longest first, each to the part that has the least to do yet.

    One whose time is not known counts as an average one.
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
    """Return the number of the part, and of how many."""
    match = SHARD.fullmatch(text)
    if not match or int(match[1]) > int(match[2]):
        raise pytest.UsageError(f"--shard wants a part such as 2/4, found {text!r}")
    return int(match[1]), int(match[2])


def unit_of(nodeid: str) -> str:
    """Return what a test belongs to: its module, or for a test of the gate kata or lecture."""
    module = nodeid.partition("::")[0]
    # Other modules ask little of a kata, and their times are not those of its gate.
    match = OF_A_KATA.search(nodeid) if GATE in module else None
    return match[1] if match else module


def read_times() -> dict[str, float]:
    """Return the seconds of each unit, as far as they are known."""
    return json.loads(TIMES.read_text()) if TIMES.exists() else {}


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests of the other parts out."""
    number, count = part_of(config.getoption("shard", "1/1"))
    mine = shards((unit_of(item.nodeid) for item in items), read_times(), count)[number - 1]
    others = [item for item in items if unit_of(item.nodeid) not in mine]
    if others:
        items[:] = [item for item in items if unit_of(item.nodeid) in mine]
        config.hook.pytest_deselected(items=others)


class Parts(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """Gives each worker one part, whose tests it runs in their order.

    Handed out one by one, a kata would be prepared in each worker, and the first wrong answer of
    every kata would not come before the second. Groups by mark are no way: pytest 9.2 does not
    see the names that xdist 3.8 gives for them.
    """

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self.parts: dict[str, str] = {}

    def _split_scope(self, nodeid: str) -> str:
        if not self.parts:
            found = shards(map(unit_of, self.collection or ()), read_times(), self.numnodes)
            self.parts = {unit: str(n) for n, part in enumerate(found) for unit in part}
        return self.parts[unit_of(nodeid)]


class Times:
    """Adds up how long the units of a run take, and stores it: those of other runs are kept."""

    def __init__(self) -> None:
        self.seconds = defaultdict[str, float](float)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Let the reports of a test say what it belongs to."""
        item.user_properties.append(("unit", unit_of(item.nodeid)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase of a test."""
        unit = dict(report.user_properties).get("unit", report.nodeid.partition("::")[0])
        self.seconds[str(unit)] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Store the sums; workers only send their reports."""
        if not hasattr(session.config, "workerinput"):
            times = {**read_times(), **{name: round(t, 1) for name, t in self.seconds.items()}}
            text = json.dumps(dict(sorted(times.items())), indent=2)
            write_whole(TIMES, f"{text}\n".encode(), TIMES.parent)
