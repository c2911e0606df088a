"""Tests of k13_retraining: the pipeline of the brief, drawn graphs, and one test for each rule."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING
from typing import Any

import pytest
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture18.k13_retraining import Facts
from katas.lecture18.k13_retraining import critical
from katas.lecture18.k13_retraining import decide
from katas.lecture18.k13_retraining import drawn
from katas.lecture18.k13_retraining import ends
from katas.lecture18.k13_retraining import rerun


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Mapping


# Children before parents: do not rely on the mapping's order.
NIGHT = {
    "report": ("train", "stats"),
    "train": ("features",),
    "stats": ("features",),
    "features": ("clean",),
    "clean": ("raw",),
    "raw": (),
}
SECONDS = {"raw": 3.0, "clean": 2.0, "features": 4.0, "train": 9.0, "stats": 5.0, "report": 1.0}


def after(
    changed: Collection[str], different: Collection[str], parents: Mapping[str, Collection[str]]
) -> list[str]:
    """Return your code's result, and check that it lists the stages that ran."""
    __tracebackhide__ = True
    calls: list[str] = []

    def run(name: str) -> bool:
        calls.append(name)
        return name in different

    yours = rerun(parents, changed, run)
    assert yours == calls, f"your code ran {calls} but returns {yours}"
    assert len(calls) == len({*calls}), f"your code runs a stage twice: {calls}"
    for name in calls:
        late = [parent for parent in parents[name] if parent in calls[calls.index(name) :]]
        assert not late, f"your code runs {name} before its parents {late}: {calls}"
    return yours


def same(yours: object, expected: object, why: str) -> None:
    """Compare results."""
    __tracebackhide__ = True
    assert yours == expected, f"{why}\nyours    {yours}\nexpected {expected}"


def test_nothing_has_changed() -> None:
    """Nothing runs, though every output would be different."""
    same(after((), NIGHT, NIGHT), [], "no stage has changed")
    same(after((), (), {}), [], "a pipeline without stages")


def test_everything_below() -> None:
    """If each output changes, all stages below the change run, in order."""
    same(after(["clean"], NIGHT, NIGHT)[:2], ["clean", "features"], "clean has changed")
    yours = {*after(["clean"], NIGHT, NIGHT)}
    same(yours, {*NIGHT} - {"raw"}, "clean has changed, and each output is another")
    same(after(["stats"], NIGHT, NIGHT), ["stats", "report"], "stats has changed")
    same(after(["report"], NIGHT, NIGHT), ["report"], "report has changed, and has no children")


def test_an_output_that_stays_stops_it() -> None:
    """After a fixed comment there is one run instead of five."""
    same(after(["clean"], (), NIGHT), ["clean"], "clean has changed, and its output is the same")
    yours = after(["clean"], ["clean"], NIGHT)
    same(yours, ["clean", "features"], "the output of clean is another, that of features is not")


def test_any_parent_is_enough() -> None:
    """One of two parents has a new output, and the other has the same output as before."""
    for different in ("train", "stats"):
        yours = after(["train", "stats"], [different], NIGHT)
        same(sorted(yours), ["report", "stats", "train"], f"only the output of {different} differs")
    yours = after(["train", "stats"], (), NIGHT)
    same(sorted(yours), ["stats", "train"], "both have changed, and no output is another")


def test_not_the_grandparents() -> None:
    """A stage does not read its grandparents' outputs: the ones it reads have not changed."""
    yours = after(["raw", "features"], ["raw"], NIGHT)
    same(yours, ["raw", "clean", "features"], "raw and features have changed; only raw's output")


EDGES = st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda e: e[0] < e[1]))
SOME = st.sets(st.integers(0, 7))


def graph(edges: set[tuple[int, int]]) -> dict[str, tuple[str, ...]]:
    """Return the parents of eight stages, the last stage first."""
    return {f"{n}": tuple(f"{a}" for a, b in edges if b == n) for n in reversed(range(8))}


@given(EDGES, SOME, SOME)
def test_any_graph(edges: set[tuple[int, int]], changed: set[int], different: set[int]) -> None:
    """A stage runs if, and only if, it must."""
    parents = graph(edges)
    ran = after({f"{n}" for n in changed}, {f"{n}" for n in different}, parents)
    for name in parents:
        reads = [p for p in parents[name] if p in ran and int(p) in different]
        same(name in ran, int(name) in changed or bool(reads), f"stage {name} of {parents} ran")


def test_ends() -> None:
    """A stage waits for its slowest parent."""
    yours = ends(NIGHT, SECONDS, NIGHT)
    expected = {"raw": 3, "clean": 5, "features": 9, "train": 18, "stats": 14, "report": 19}
    same(yours, expected, "everything ran")
    names = [*yours]
    same(names[:3], ["raw", "clean", "features"], "the order of the dict: parents first")
    same(ends({}, {}, ()), {}, "no stages")


def test_what_did_not_run_takes_no_time() -> None:
    """A stage that did not run takes no time, but its children still wait for its parents."""
    ran = ["stats", "report"]
    expected = dict.fromkeys(("raw", "clean", "features", "train"), 0) | {"stats": 5, "report": 6}
    same(ends(NIGHT, SECONDS, ran), expected, f"{ran} ran")
    yours = ends(NIGHT, SECONDS, ["raw", "features"])["features"]
    same(yours, 7, "raw and features ran, and clean, between them, did not: the end of features")


def test_critical() -> None:
    """The critical path goes through train, not stats; stages that did not run are left out."""
    night = ["raw", "clean", "features", "train", "report"]
    same(critical(NIGHT, SECONDS, NIGHT), night, "everything ran")
    yours = critical(NIGHT, SECONDS | {"stats": 20.0}, NIGHT)
    same(yours, [*night[:3], "stats", "report"], "stats takes 20 seconds")
    same(critical(NIGHT, SECONDS, ["stats", "report"]), ["stats", "report"], "these two ran")
    same(critical(NIGHT, SECONDS, ["raw", "stats"]), ["raw", "stats"], "these two ran")
    same(critical(NIGHT, SECONDS, ()), [], "nothing ran")
    same(critical({}, {}, ()), [], "no stages")


def test_two_pipelines_side_by_side() -> None:
    """The longer pipeline determines the path."""
    parents = {"b": ("a",), "a": (), "long": ()}
    same(
        critical(parents, {"a": 1.0, "b": 1.0, "long": 5.0}, parents), ["long"], "a 1, b 1, long 5"
    )
    same(
        critical(parents, {"a": 3.0, "b": 4.0, "long": 5.0}, parents),
        ["a", "b"],
        "a 3, b 4, long 5",
    )


@given(EDGES, SOME, st.lists(st.floats(0.1, 9), min_size=8, max_size=8, unique=True))
def test_a_critical_path_explains_the_night(
    edges: set[tuple[int, int]], ran: set[int], times: list[float]
) -> None:
    """The path's seconds add up to the end, and each stage is below the one before."""
    parents = graph(edges)
    seconds = {f"{n}": time for n, time in enumerate(times)}
    names = {f"{n}" for n in ran}
    path = critical(parents, seconds, names)
    end = max(ends(parents, seconds, names).values())
    assert math.isclose(sum(seconds[name] for name in path), end, abs_tol=1e-9), (
        f"the night takes {end} s, but your path is {path} {[seconds[name] for name in path]}"
    )
    same({*path} <= names, True, f"each stage of {path} is one that ran: {sorted(names)}")  # noqa: FBT003 - expected
    for upper, lower in pairwise(path):
        below, todo = set[str](), [lower]
        while todo:
            new = {*parents[todo.pop()]} - below
            below |= new
            todo += new
        assert upper in below, f"{lower} does not come after {upper} in {parents}"


def test_a_night_as_text() -> None:
    """The output of clean changes, but stats writes the same output as before."""
    ran = rerun(NIGHT, ["clean"], lambda name: name != "stats")
    times = ends(NIGHT, SECONDS, ran)
    text = drawn({name: times[name] for name in reversed(NIGHT)}, SECONDS, ran)
    path = " ".join(critical(NIGHT, SECONDS, ran))
    assert_expected_inline(
        f"{text}\ncritical: {path}",
        """\
clean    == 2
features   ==== 6
stats          ===== 11
train          ========= 15
report                  = 16
critical: clean features train report""",
    )


FACTS = Facts(now=100.0, trained=50.0, rows=1000, new_rows=20, score=0.9, expected=0.9)


@pytest.mark.parametrize(
    ("expected", "changes", "why"),
    [
        ("wait", {}, "nothing calls for a training"),
        ("train", {"new_rows": 100}, "100 new rows for 1000: 10 percent or more"),
        ("wait", {"new_rows": 99}, "99 new rows for 1000: less than 10 percent"),
        ("train", {"rows": 290, "new_rows": 29}, "29 new rows for 290: 10 percent or more"),
        ("train", {"rows": 0, "new_rows": 0}, "no model has seen a row yet"),
        ("train", {"score": 0.75}, "0.15 lower than expected"),
        ("wait", {"score": 0.8}, "0.1 lower than expected"),
        ("wait", {"score": 1.1}, "0.2 higher than expected"),
        ("wait", {"score": 0.5, "expected": 0.625}, "lower by 0.125, and no more"),
        ("train", {"score": math.nan}, "a score of NaN is no good score"),
        ("wait", {"new_rows": 500, "trained": 88.5}, "the last training was 11.5 hours ago"),
        ("train", {"new_rows": 500, "trained": 88.0}, "the last training was 12 hours ago"),
        ("train", {"new_rows": 500, "trained": -math.inf}, "there was no training"),
        ("ask", {"new_rows": 500, "failures": 2}, "two trainings have failed in a row"),
        ("ask", {"failures": 3}, "three have failed: also if nothing calls for a training"),
        ("train", {"new_rows": 500, "failures": 1}, "one has failed: try again"),
        ("ask", {"failures": 2, "trained": 99.0}, "two have failed, an hour ago: ask at once"),
        ("wait", {"failures": 2, "running": True}, "two have failed, and another is running"),
        ("wait", {"new_rows": 500, "running": True}, "a training is running"),
        ("wait", {"rows": 150, "new_rows": 14}, "14 new rows for 150: less than 10 percent"),
        ("train", {"rows": 150, "new_rows": 15}, "15 new rows for 150: 10 percent"),
    ],
)
def test_a_rule(expected: str, changes: dict[str, Any], why: str) -> None:
    """The first rule that holds decides."""
    facts = replace(FACTS, **changes)
    yours = decide(facts)
    assert yours == expected, f"{why}\nyours {yours!r}, expected {expected!r}\n{facts}"
