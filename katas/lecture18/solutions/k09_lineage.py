"""Which models must be recalled: the ancestors and the descendants of a run."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING
from typing import NamedTuple
from typing import Protocol


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Iterable


class Source(NamedTuple):
    """An input of a run. Ids are strings: "0042" and "42" are different runs."""

    source_run_id: str
    artifact_name: str | None = None


class Tracker(Protocol):
    """The tracker interface; TorchX's trackers have these methods and more."""

    def add_source(self, run_id: str, source_id: str, artifact_name: str | None = None, /) -> None:
        """Record a source, without any check."""

    def sources(self, run_id: str, /) -> Iterable[Source]:
        """Return the sources of a run, or none if the run is unknown."""

    def run_ids(self) -> Iterable[str]:
        """Return every run with sources once, and perhaps other runs."""


def reach(step: Callable[[str], Iterable[str]], start: str) -> dict[str, int]:
    """Return the fewest steps from `start` to each run that can be reached, nearest first."""
    found, waiting = {start: 0}, deque([start])
    while waiting:
        run = waiting.popleft()
        for other in step(run):
            if other not in found:
                found[other] = found[run] + 1
                waiting.append(other)
    del found[start]
    return found


def ancestors(tracker: Tracker, run_id: str) -> dict[str, int]:
    """Return the runs that `run_id` was made from, directly or not, and their distances."""
    return reach(lambda run: [each.source_run_id for each in tracker.sources(run)], run_id)


def descendants(tracker: Tracker, run_id: str) -> dict[str, int]:
    """Return the runs that were made from `run_id`, directly or not, and their distances."""
    users: dict[str, list[str]] = {}
    for run in tracker.run_ids():
        for source in tracker.sources(run):
            users.setdefault(source.source_run_id, []).append(run)
    return reach(lambda run: users.get(run, []), run_id)


def record(tracker: Tracker, run_id: str, source_id: str, artifact_name: str | None = None) -> None:
    """Record a source of a run with ``tracker.add_source``."""
    if run_id == source_id or run_id in ancestors(tracker, source_id):
        raise ValueError(f"{run_id!r} would be its own ancestor, by way of {source_id!r}")
    noted = {(each.source_run_id, each.artifact_name) for each in tracker.sources(run_id)}
    if (source_id, artifact_name) not in noted:
        tracker.add_source(run_id, source_id, artifact_name)


def suspects(tracker: Tracker, bad: Collection[str], good: Iterable[str] = ()) -> set[str]:
    """Return the runs that are in the family of every bad run, and of no good run."""
    families = [{run, *ancestors(tracker, run)} for run in bad]
    fine = {each for run in good for each in (run, *ancestors(tracker, run))}
    return set.intersection(*families) - fine
