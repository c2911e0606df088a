"""What is remembered about a kata: its state by content, tests of several runs, the time."""

from __future__ import annotations

import json
from datetime import UTC
from datetime import datetime
from datetime import timedelta

import pytest

from plugins.guide.steps import LabStep
from plugins.progress.standing import CONTENTS
from plugins.progress.standing import Results
from plugins.progress.standing import Standing
from plugins.progress.standing import State
from plugins.progress.standing import TestOutcome
from plugins.progress.standing import pause_between
from plugins.progress.standing import share_time


NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
PASSED, FAILED, SKIPPED = (
    TestOutcome("passed"),
    TestOutcome("failed", "why"),
    TestOutcome("skipped", "no GPU"),
)
NO_CUDA = TestOutcome("skipped", "cuda: no GPU")


@pytest.mark.parametrize(
    ("tests", "total", "state"),
    [
        ({"a": PASSED, "b": PASSED}, 2, "solved"),
        ({"a": PASSED, "b": SKIPPED}, 2, "unavailable"),
        ({"a": PASSED, "extra[1]": SKIPPED}, 2, "solved"),
        ({"extra[1]": SKIPPED}, 1, "unavailable"),
        ({"a[cpu]": PASSED, "a[cuda]": NO_CUDA}, 2, "solved"),
        ({"a[cpu]": FAILED, "a[cuda]": NO_CUDA}, 2, "failing"),
        ({"a[cpu]": PASSED, "b[cuda]": NO_CUDA}, 2, "unavailable"),
        ({"a": SKIPPED, "b": SKIPPED}, 2, "unavailable"),
        ({"a": PASSED, "b": FAILED}, 2, "failing"),
        ({"a": FAILED}, 2, "failing"),
        ({"": FAILED}, None, "failing"),
        ({"a": PASSED}, 2, "open"),
        ({"a": PASSED}, None, "open"),
        ({}, 0, "open"),
    ],
)
def test_a_kata_is_solved_when_every_test_has_run_and_none_failed(
    tests: dict[str, TestOutcome], total: int | None, state: str
) -> None:
    """A test that cannot run here counts, unless it is extra or has run on another device."""
    assert state == Results("c", tests, total, ("extra",)).state


@pytest.mark.parametrize(
    ("tests", "total", "passing"),
    [
        # Stopped at the first failure.
        ({"a": FAILED}, 20, "0 of 20"),
        ({"a": PASSED, "b": PASSED, "c": FAILED}, 20, "2 of 20"),
        ({"a": PASSED, "b": FAILED, "c": SKIPPED}, 20, "1 of 19"),
        ({"a": PASSED, "b": FAILED}, None, "1 of 2"),
        ({"a": PASSED}, 1, "1 of 1"),
        ({"a": SKIPPED}, 1, ""),
        ({"": FAILED}, None, ""),
        ({}, 20, ""),
    ],
)
def test_tests_that_did_not_run_do_not_pass(
    tests: dict[str, TestOutcome], total: int | None, passing: str
) -> None:
    """Of all that the kata has, apart from those that cannot run here."""
    assert passing == Results("c", tests, total).passing


def test_an_edit_opens_a_solved_kata_and_undoing_it_solves_it() -> None:
    """The state belongs to the content, so each branch has its own."""
    standing = Standing().after(Results("one", {"a": PASSED}, 1), 0.1, NOON)
    standing = standing.after(Results("two", {"a": FAILED}, 1), 0.1, NOON)

    assert "new" == Standing().state("one")
    assert "solved" == standing.state("one")
    assert "failing" == standing.state("two")
    assert "open" == standing.state("three")


def test_runs_of_one_content_add_up() -> None:
    """After a failure, ``-k`` or ``::`` can run only the tests that failed."""
    standing = Standing().after(Results("one", {"a": PASSED, "b": FAILED}, 2), 0.1, NOON)
    standing = standing.after(Results("one", {"b": PASSED}, None), 0.1, NOON)

    assert "solved" == standing.state("one")
    assert {"a": PASSED, "b": PASSED} == standing.results.tests


NO_CXX, NO_TOOL = TestOutcome("skipped", "cxx: none"), TestOutcome("skipped", "tool: none")


def run_after(*runs: dict[str, TestOutcome], total: int = 3) -> Standing:
    """Return the standing after runs of one content; one of few tests does not know the total.

    The test ``c`` decides nothing.
    """
    standing = Standing()
    for tests in runs:
        known = total if len(tests) == total else None
        standing = standing.after(Results("one", tests, known, ("c",)), 0.1, NOON)
    return standing


def test_a_skip_does_not_outlive_its_reason() -> None:
    """Where one test runs that was skipped, the others may run too: they have no result yet."""
    before = {"a": NO_CXX, "b": NO_CXX, "c": NO_TOOL}
    failed, passed = run_after(before, {"a": FAILED}), run_after(before, {"a": PASSED})

    assert "unavailable" == run_after(before).state("one")
    assert {"a": FAILED, "c": NO_TOOL} == failed.results.tests
    assert {"a": PASSED, "c": NO_TOOL} == passed.results.tests
    assert ("failing", "open") == (failed.state("one"), passed.state("one"))
    assert "solved" == run_after(before, {"a": PASSED}, {"b": PASSED}).state("one")


def test_the_newest_run_decides_what_is_missing() -> None:
    """A compiler that is gone makes a kata that was failing one that cannot run here."""
    now = {"a": NO_CXX, "b": NO_CXX, "c": NO_CXX}
    standing = run_after({"a": PASSED, "b": FAILED, "c": PASSED}, now)

    assert ("unavailable", now) == (standing.state("one"), standing.results.tests)


def test_a_solved_kata_stays_solved_where_it_cannot_run() -> None:
    """The answer is the one that has passed; only what fails opens it again."""
    all_pass = {"a": PASSED, "b": PASSED, "c": NO_TOOL}
    here = run_after(all_pass, {"a": NO_CXX, "b": NO_CXX, "c": NO_CXX})
    failed = run_after(all_pass, {"a": NO_CXX, "b": FAILED, "c": NO_CXX})
    more = run_after({"a": PASSED, "b": PASSED, "c": NO_TOOL}, {"b": PASSED, "c": NO_CXX})

    assert ("solved", {**all_pass, "c": NO_CXX}) == (here.state("one"), here.results.tests)
    assert "failing" == failed.state("one")
    assert "solved" == more.state("one")


def test_what_was_found_makes_skips_out_of_date() -> None:
    """Of every content; a solved kata stays solved, for that content."""
    away = Standing().after(Results("old", {"a": NO_CXX}, 1), 0.1, NOON)
    away = away.after(Results("one", {"a": NO_CXX}, 1), 0.1, NOON)
    solved = run_after({"a": PASSED, "b": PASSED, "c": NO_CXX})
    undecided = run_after({"a": PASSED, "b": NO_CXX, "c": NO_TOOL})

    assert away == away.without(["cuda", "cpu"])
    assert ["unavailable"] * 2 == [*away.states.values()]
    assert {"old": "open", "one": "open"} == away.without(["cxx"]).states
    assert {} == away.without(["cxx"]).results.tests
    assert {"a": PASSED, "b": PASSED} == solved.without(["cxx"]).results.tests
    assert "solved" == solved.without(["cxx"]).state("one")
    assert "unavailable" == undecided.state("one")
    assert {"a": PASSED, "c": NO_TOOL} == undecided.without(["cxx"]).results.tests
    assert "open" == undecided.without(["cxx"]).state("one")


def test_a_run_makes_the_skips_of_other_contents_out_of_date() -> None:
    """An undo brings back a text that could not run then; it is open, and not solved either."""
    away = Standing().after(Results("old", {"a": NO_CXX}, 1), 0.1, NOON)
    still = away.after(Results("new", {"a": NO_CXX}, 1), 0.1, NOON)
    ran = away.after(Results("new", {"a": FAILED}, 1), 0.1, NOON)

    assert ("unavailable", "open") == (still.state("old"), ran.state("old"))


def test_a_skip_leaves_other_contents_as_they_are() -> None:
    """If what decides is missing still, or the run had no other test."""
    away = Standing().after(Results("old", {"a": PASSED, "b": NO_CXX}, 2), 0.1, NOON)
    undecided = away.after(Results("new", {"a": PASSED, "b": NO_CXX}, 2), 0.1, NOON)
    part = away.after(Results("new", {"b": NO_CXX}, None), 0.1, NOON)

    assert ["unavailable"] * 2 == [each.state("old") for each in (undecided, part)]
    assert "open" == part.state("new")


def test_what_an_older_version_called_solved_is_judged_again() -> None:
    """It is undecided if a test that decides was skipped, and has not been solved."""
    tests = {"a": PASSED, "b": NO_CXX}
    solved = Standing(0.1, "now", {"one": "solved"}, Results("one", tests, 2), "then")
    other = Standing(0.1, "now", {"two": "solved"}, Results("one", tests, 2), "then")

    assert ("unavailable", "") == (solved.judged(()).state("one"), solved.judged(()).solved_at)
    assert ("solved", "then") == (solved.judged(("b",)).state("one"), solved.judged(("b",)).solved)
    assert ("solved", "then") == (other.judged(()).state("two"), other.judged(()).solved)


def test_what_is_extra_is_not_stored() -> None:
    """The kata's table says it, and may change."""
    standing = run_after({"a": PASSED, "b": PASSED, "c": NO_CXX})

    assert ("c",) == standing.results.extra
    assert () == Standing.from_data(standing.to_data()).results.extra
    assert "extra" not in standing.to_data()["results"]


def test_runs_of_two_contents_do_not() -> None:
    """Tests that an older content passed prove nothing about a newer one."""
    standing = Standing().after(Results("one", {"a": PASSED, "b": FAILED}, 2), 0.1, NOON)
    standing = standing.after(Results("two", {"b": PASSED}, None), 0.1, NOON)

    assert "open" == standing.state("two")
    assert {"b": PASSED} == standing.results.tests


def test_another_number_of_tests_begins_anew() -> None:
    """The tests have changed: upstream has fixed them."""
    standing = Standing().after(Results("one", {"a": PASSED, "b": PASSED}, 2), 0.1, NOON)
    standing = standing.after(Results("one", {"a": PASSED}, 3), 0.1, NOON)

    assert "open" == standing.state("one")
    assert {"a": PASSED} == standing.results.tests


def test_old_contents_are_forgotten() -> None:
    """A kata's file does not grow forever; the newest contents stay, also repeated ones."""
    standing = Standing()
    for number in range(CONTENTS + 5):
        standing = standing.after(Results(str(number), {"a": PASSED}, 1), 0.1, NOON)
        standing = standing.after(Results("often", {"a": PASSED}, 1), 0.1, NOON)

    assert CONTENTS == len(standing.states)
    assert "solved" == standing.state("often")
    assert "open" == standing.state("0")


@pytest.mark.parametrize(
    ("before", "now", "edited"),
    [("one", "two", True), ("one", "one", False), ("", "one", False)],
)
def test_an_edit_is_one_between_two_runs(before: str, now: str, edited: bool) -> None:  # noqa: FBT001
    """A kata that has never run tells nothing of when it was edited."""
    standing = Standing()
    if before:
        standing = standing.after(Results(before, {"a": PASSED}, 1), 2.0, NOON)

    assert edited == standing.edited(Results(now, {"a": PASSED}, 1))


def test_the_time_of_runs_adds_up() -> None:
    """Each run says how much was spent for it."""
    later = NOON + timedelta(minutes=10)
    standing = Standing().after(Results("one", {"a": PASSED}, 1), 2.0, NOON)
    standing = standing.after(Results("two", {"a": PASSED}, 1), 602.0, later)

    assert (604.0, later.isoformat()) == (standing.seconds, standing.last)


@pytest.mark.parametrize(("seconds", "counted"), [(600, 600), (900, 900), (901, 0), (-5, 0)])
def test_a_pause_of_at_most_15_minutes_counts(seconds: float, counted: float) -> None:
    """A longer one was no work, and a negative one is a clock that was set back."""
    assert counted == pause_between(5e9, 5e9 + seconds)


@pytest.mark.parametrize(
    ("spans", "last", "shares"),
    [
        ([("a", 10, 2), ("a", 12, 1), ("b", 20, 4)], 0, {"a": 3, "b": 4}),
        # Two workers: of five seconds on the clock, five count.
        ([("a", 10, 4), ("b", 11, 4)], 0, {"a": 4, "b": 1}),
        ([("b", 11, 1), ("a", 10, 4)], 0, {"a": 4, "b": 0}),
        # Another terminal has counted the time until 12.
        ([("a", 10, 4)], 12, {"a": 2}),
        ([("a", 10, 1)], 12, {"a": 0}),
        ([], 12, {}),
    ],
)
def test_what_runs_at_once_counts_once(
    spans: list[tuple[str, float, float]], last: float, shares: dict[str, float]
) -> None:
    """There is one learner, however many processes there are."""
    assert shares == share_time(spans, last)


def test_it_survives_json() -> None:
    """A standing that is written and read is the same."""
    standing = Standing().after(Results("one", {"a": PASSED, "b": SKIPPED}, 2), 0.5, NOON)

    assert standing == Standing.from_data(json.loads(json.dumps(standing.to_data())))


def test_the_day_of_the_first_solution_is_kept() -> None:
    """It outlives later failures; a file without it has the day of the last run, if solved."""
    runs = [("one", FAILED), ("two", PASSED), ("two", PASSED), ("three", FAILED)]
    standing, days = Standing(), []
    for day, (content, outcome) in enumerate(runs):
        now = NOON + timedelta(days=day)
        standing = standing.after(Results(content, {"a": outcome}, 1), 0.1, now)
        data = standing.to_data()
        assert data.pop("solved") == standing.solved
        days.append((standing.solved_at, Standing.from_data(data).solved_at))
    second, third = ((NOON + timedelta(days=day)).isoformat() for day in (1, 2))

    assert [("", ""), (second, second), (second, third), (second, "")] == days


@pytest.mark.parametrize("change", [{"version": 2}, {"results": []}, {"states": 3}])
def test_what_is_no_standing_is_refused(change: dict[str, object]) -> None:
    """The store counts these errors as nothing remembered."""
    with pytest.raises((ValueError, TypeError, AttributeError)):
        Standing.from_data(Standing().to_data() | change)


STEPS = {"test_a": LabStep(1, 2, "one"), "test_b": LabStep(2, 2, "two")}


@pytest.mark.parametrize(
    ("state", "step"),
    [
        ("failing", STEPS["test_b"]),
        ("open", STEPS["test_b"]),
        ("solved", None),
        ("new", None),
        ("unavailable", None),
    ],
)
def test_a_kata_in_progress_is_at_a_step(state: State, step: LabStep | None) -> None:
    """Of what is solved or was never run there is none."""
    tests = {"test_a": TestOutcome("passed"), "test_b": TestOutcome("failed", "no")}
    standing = Standing(results=Results("", tests, 2))

    assert step == standing.step(state, STEPS)
