"""Tests of k09_lineage: small families, long chains, and TorchX's own tracker."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture18.k09_lineage import Source
from katas.lecture18.k09_lineage import ancestors
from katas.lecture18.k09_lineage import descendants
from katas.lecture18.k09_lineage import reach
from katas.lecture18.k09_lineage import record
from katas.lecture18.k09_lineage import suspects


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Notes:
    """A tracker in memory, which counts queries and lists the added sources."""

    def __init__(self, **parents: str) -> None:
        self.asked: Counter[str] = Counter()
        self.added: list[tuple[str, str, str | None]] = []
        self.kept = {run: [Source(each) for each in text.split()] for run, text in parents.items()}

    def add_source(self, run_id: str, source_id: str, artifact_name: str | None = None) -> None:
        """Record a source."""
        self.added.append((run_id, source_id, artifact_name))
        self.kept.setdefault(run_id, []).append(Source(source_id, artifact_name))

    def sources(self, run_id: str) -> Iterator[Source]:
        """Yield the sources of a run."""
        self.asked[run_id] += 1
        yield from self.kept.get(run_id, [])

    def run_ids(self) -> Iterator[str]:
        """Yield the runs with sources."""
        yield from self.kept


def family() -> Notes:
    """Return the picture of the brief, with a source of `clean` that is not a run."""
    return Notes(
        clean="s3://raw", train1="clean", train2="clean", distill="train1 train2", other="s3://x"
    )


def same(yours: object, expected: object, why: str) -> None:
    """Compare results."""
    __tracebackhide__ = True
    assert yours == expected, f"{why}\nyours    {yours}\nexpected {expected}"


def test_parents() -> None:
    """A run's parents are one step away; a first run has no ancestors."""
    tracker = Notes(train="clean labels")
    same(ancestors(tracker, "train"), {"clean": 1, "labels": 1}, "train was made from two sources")
    same(ancestors(tracker, "clean"), {}, "clean has no sources, and is not its own ancestor")


def test_ancestors() -> None:
    """Ancestors are found through both parents, and each run occurs once."""
    expected = {"train1": 1, "train2": 1, "clean": 2, "s3://raw": 3}
    yours = ancestors(family(), "distill")
    same(yours, expected, "the ancestors of distill, and their distances")
    same([*yours.values()], [1, 1, 2, 3], "distances in the order of the dict: nearest first")


def test_the_shortest_way_counts() -> None:
    """A run that is a parent and an ancestor of a parent is one step away."""
    tracker = Notes(d="c a", c="b", b="a")
    same(
        ancestors(tracker, "d"),
        {"c": 1, "a": 1, "b": 2},
        "d is made from c and a; c from b; b from a",
    )
    longer = Notes(z="b a", a="c", c="d", b="d", d="e")
    same(
        ancestors(longer, "z"),
        {"a": 1, "b": 1, "c": 2, "d": 2, "e": 3},
        "d is two steps from z by way of b, three by way of a and c",
    )


def test_descendants() -> None:
    """Descendants are found for any source, even one that is not a run of the tracker."""
    expected = {"train1": 1, "train2": 1, "distill": 2}
    same(descendants(family(), "clean"), expected, "the descendants of clean")
    raw = {"clean": 1, "train1": 2, "train2": 2, "distill": 3}
    same(descendants(family(), "s3://raw"), raw, "of s3://raw, a file that no run has made")
    same(descendants(family(), "distill"), {}, "nothing was made from distill")


def test_reach() -> None:
    """A step may be anything, such as from a number to its divisors."""
    asked: list[str] = []

    def divided(run: str) -> Iterator[str]:
        asked.append(run)
        yield from (f"{int(run) // p}" for p in (2, 3) if int(run) % p == 0)

    same(reach(divided, "12"), {"6": 1, "4": 1, "3": 2, "2": 2, "1": 3}, "12, divided by 2 or 3")
    same(sorted(asked), ["1", "12", "2", "3", "4", "6"], "each is asked for its next ones once")


@pytest.mark.time_limit(5)
def test_many_paths() -> None:
    """Forty diamonds in a chain have a million million paths, but 120 runs."""
    tracker = Notes()
    for n in range(40):
        tracker.kept |= {
            f"{n}a": [Source(f"{n}")],
            f"{n}b": [Source(f"{n}")],
            f"{n + 1}": [Source(f"{n}a"), Source(f"{n}b")],
        }
    for ask, run in ((ancestors, "40"), (descendants, "0")):
        tracker.asked.clear()
        yours = ask(tracker, run)
        same(len(yours), 120, "how many runs there are but for the one asked about")
        same(max(yours.values()), 80, "the distance between both ends")
        often = {each: times for each, times in tracker.asked.items() if times > 1}
        same(often, {}, "runs whose sources were asked for more than once in a call")


@pytest.mark.time_limit(5)
def test_a_long_chain() -> None:
    """A chain of five thousand nights is deeper than Python's stack."""
    tracker = Notes(**{f"{n + 1}": f"{n}" for n in range(5000)})
    try:
        yours = ancestors(tracker, "5000"), descendants(tracker, "0")
    except RecursionError:
        raise AssertionError("a chain of 5000 runs is too deep for recursion") from None
    same([len(each) for each in yours], [5000, 5000], "how many ancestors and descendants")
    same(yours[0].get("0"), 5000, "how far the first run is away")


@pytest.mark.time_limit(5)
def test_a_cycle() -> None:
    """Someone else recorded a cycle: the walk ends, and leaves the start out."""
    tracker = Notes(a="c", b="a", c="b", d="d")
    same(ancestors(tracker, "a"), {"c": 1, "b": 2}, "a is made from c, c from b, b from a")
    same(descendants(tracker, "a"), {"b": 1, "c": 2}, "the same cycle, the other way")
    same(ancestors(tracker, "d"), {}, "d is made from itself")


def test_ids_are_strings() -> None:
    """Ids are strings, even if they look like numbers."""
    tracker = Notes()
    for run, source in (("0042", "42"), ("42", "4_2"), ("1e3", "1000")):
        record(tracker, run, source)
    same(ancestors(tracker, "0042"), {"42": 1, "4_2": 2}, "0042 is made from 42, 42 from 4_2")
    same(ancestors(tracker, "1000"), {}, "1e3 is made from 1000, which is another id")


def test_record() -> None:
    """A new source is written unchanged."""
    tracker = Notes()
    record(tracker, "train", "clean", "rows")
    record(tracker, "train", "labels")
    same(
        tracker.added,
        [("train", "clean", "rows"), ("train", "labels", None)],
        "what add_source was called with",
    )


def test_record_once() -> None:
    """A restarted job reports the same source again; a different artifact of it is new."""
    tracker = Notes()
    for artifact in ("rows", None, "rows", None, "names"):
        try:
            record(tracker, "train", "clean", artifact)
        except ValueError as error:
            raise AssertionError(
                f"record('train', 'clean', {artifact!r}) raises, after {tracker.added}: train was "
                "made from clean, and clean was not made from train. Does your code look for a"
                " cycle in the wrong direction?"
            ) from error
    same(
        [artifact for *_, artifact in tracker.added],
        ["rows", None, "names"],
        "train was made from the artifacts rows, None, rows, None, names of clean",
    )
    record(tracker, "other", "clean", "rows")
    same(len(tracker.added), 4, "another run was made from the same artifact: it is noted")


@pytest.mark.parametrize("source", ["clean", "train1", "distill", "new"])
def test_no_run_is_its_own_ancestor(source: str) -> None:
    """No run becomes its own ancestor, even through others; a refused source is not written."""
    tracker = family()
    run = source if source == "new" else "clean"
    try:
        record(tracker, run, source)
    except ValueError:
        pass
    else:
        raise AssertionError(f"your code recorded {source} as a source of {run}, its own ancestor")
    same(tracker.added, [], "what was written before the error")
    record(tracker, "clean", "other")
    same(len(tracker.added), 1, "clean made from other, a run of another family, is fine")


def test_suspects() -> None:
    """Suspects are common to the families of all bad runs, and in no good run's family."""
    tracker = Notes(
        m1="d1 code", m2="d1 d2 code", m3="d2 code", d1="raw", d2="raw", tuned="m1", code=""
    )
    same(suspects(tracker, ["m1", "m2"]), {"d1", "raw", "code"}, "m1 and m2 are bad")
    same(suspects(tracker, ["m1", "m2"], ["m3"]), {"d1"}, "m1 and m2 are bad, m3 is good")
    same(suspects(tracker, ["m1"], ["m3"]), {"m1", "d1"}, "m1 is bad: it may be at fault itself")
    same(suspects(tracker, ["m1", "tuned"], ["d1"]), {"m1", "code"}, "d1 is good, and what made it")
    same(suspects(tracker, ["m1"], ["tuned"]), set(), "tuned is good, so its source m1 is, too")
    yours = suspects(tracker, ["m1", "m2"], iter(["m3", "d1"]))
    same(yours, set(), "m1 and m2 are bad, m3 and d1 good, in an iterator, which can be read once")


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=20))
def test_both_directions_agree(pairs: list[tuple[int, int]]) -> None:
    """Each ancestor has the run as a descendant at the same distance; `record` refuses cycles."""
    tracker = Notes()
    for run, source in pairs:
        try:
            record(tracker, f"{run}", f"{source}")
        except ValueError:
            assert run == source or f"{run}" in ancestors(tracker, f"{source}"), (
                f"your code refused {source} as a source of {run}, but that would not make a cycle"
            )
    down = {f"{n}": descendants(tracker, f"{n}") for n in range(9)}
    for each, below in down.items():
        expected = {other: far[each] for other, far in down.items() if each in far}
        same(
            ancestors(tracker, each), expected, f"ancestors of {each}, by descendants of all others"
        )
        assert each not in below, f"{each} is its own descendant after record: {tracker.added}"


@pytest.mark.backend("torchx")
def test_torchx_tracker(tmp_path: Path) -> None:
    """The files of TorchX's FsspecTracker give the same ancestors; its folder has to exist."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torchx.tracker.backend import fsspec as files  # noqa: PLC0415 - may be missing
        from torchx.tracker.backend.fsspec import FsspecTracker  # noqa: PLC0415 - may be missing

    tracker: Any = FsspecTracker(files.fsspec.filesystem("file"), str(tmp_path))
    for run, source in (
        ("local://x/train", "local://x/clean"),
        ("9", "local://x/train"),
        ("8", "9"),
    ):
        record(tracker, run, source, "rows")
        record(tracker, run, source, "rows")
    expected = {"9": 1, "local://x/train": 2, "local://x/clean": 3}
    same(ancestors(tracker, "8"), expected, "from the files of FsspecTracker")
    expected = {"local://x/train": 1, "9": 2, "8": 3}
    same(descendants(tracker, "local://x/clean"), expected, "from the files of FsspecTracker")
    with pytest.raises(NotImplementedError):
        tracker.lineage("8")
