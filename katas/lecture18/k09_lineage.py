"""Find the models to recall when labels from March turn out to be wrong.

A tracker records the inputs of each run, its sources:

    raw --> clean --> train-1 --> distill
              |                      |
              +-----> train-2 -------+

TorchX has trackers, and a method ``lineage`` for such questions. In its ``FsspecTracker`` that
method is one line: ``raise NotImplementedError``. Write what is missing, for any tracker:

1. `reach`: everything that can be reached from a run, and in how many steps.
2. `ancestors` and `descendants`, with `reach`.
3. `record`: record a source, unless it makes no sense.
4. `suspects`: three models are bad and two are good; where did the fault begin? About 25 lines in
   all.

Real graphs have many paths to the same run. `ancestors` and `descendants` ask the tracker once for
each run's sources.

Begin on paper: how many paths lead from the last run to the first if the square in this picture is
repeated 40 times?
Afterwards read ``Node.next_functions`` in ``torch/autograd/graph.py``, in site-packages: autograd
walks such a graph too.
"""

from __future__ import annotations

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
    """Return the fewest steps from `start` to each run that can be reached, nearest first.

    ``step(run)`` returns the runs one step away; call it once for each run. `start` itself is left
    out, even if the graph has a cycle.
    """
    # TODO: no recursion, since a chain may have thousands of runs.
    raise NotImplementedError("reach")


def ancestors(tracker: Tracker, run_id: str) -> dict[str, int]:
    """Return the runs that `run_id` was made from, directly or not, and their distances."""
    # TODO
    raise NotImplementedError("ancestors")


def descendants(tracker: Tracker, run_id: str) -> dict[str, int]:
    """Return the runs that were made from `run_id`, directly or not, and their distances."""
    # TODO
    raise NotImplementedError("descendants")


def record(tracker: Tracker, run_id: str, source_id: str, artifact_name: str | None = None) -> None:
    """Record a source of a run with ``tracker.add_source``.

    Raise ValueError, and write nothing, if the run would become its own ancestor. Also write
    nothing if this source is already recorded for this artifact.
    """
    # TODO
    raise NotImplementedError("record")


def suspects(tracker: Tracker, bad: Collection[str], good: Iterable[str] = ()) -> set[str]:
    """Return the runs that are in the family of every bad run, and of no good run.

    The family of a run is the run and its ancestors. There is at least one bad run.
    """
    # TODO
    raise NotImplementedError("suspects")
