"""What is remembered of a kata: its state by content, the tests of several runs, the time."""

from __future__ import annotations

import json
from datetime import UTC
from datetime import datetime
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from plugins.layout import Kata
from plugins.standing import CONTENTS
from plugins.standing import Outcome
from plugins.standing import Results
from plugins.standing import Standing
from plugins.standing import content_of
from plugins.standingdata import from_data
from plugins.standingdata import to_data


if TYPE_CHECKING:
    from pathlib import Path


NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
PASSED, FAILED, SKIPPED = Outcome("passed"), Outcome("failed", "why"), Outcome("skipped", "no GPU")


def a_kata(folder: Path, csrc: tuple[str, ...] = ()) -> Kata:
    """Return a kata in `folder`."""
    return Kata(folder.name, "k01_first", "T", "lab", (), (), (), (), (), (), csrc, folder)


@pytest.mark.parametrize(
    ("tests", "total", "state"),
    [
        ({"a": PASSED, "b": PASSED}, 2, "solved"),
        ({"a": PASSED, "b": SKIPPED}, 2, "solved"),
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
    tests: dict[str, Outcome], total: int | None, state: str
) -> None:
    """What cannot run here does not count against it; what did not run does."""
    assert state == Results("c", tests, total).state


def test_an_edit_opens_a_solved_kata_and_undoing_it_solves_it() -> None:
    """The state belongs to the content, so another branch has its own."""
    standing = Standing().after(Results("one", {"a": PASSED}, 1), 0.1, NOON)
    standing = standing.after(Results("two", {"a": FAILED}, 1), 0.1, NOON)

    assert "new" == Standing().state("one")
    assert "solved" == standing.state("one")
    assert "failing" == standing.state("two")
    assert "open" == standing.state("three")


def test_runs_of_one_content_add_up() -> None:
    """First the tests that fail, then, with ``-k`` or ``::``, those that failed."""
    standing = Standing().after(Results("one", {"a": PASSED, "b": FAILED}, 2), 0.1, NOON)
    standing = standing.after(Results("one", {"b": PASSED}, None), 0.1, NOON)

    assert "solved" == standing.state("one")
    assert {"a": PASSED, "b": PASSED} == standing.results.tests


def test_runs_of_two_contents_do_not() -> None:
    """What an older content passed is no proof for a newer one."""
    standing = Standing().after(Results("one", {"a": PASSED, "b": FAILED}, 2), 0.1, NOON)
    standing = standing.after(Results("two", {"b": PASSED}, None), 0.1, NOON)

    assert "open" == standing.state("two")
    assert {"b": PASSED} == standing.results.tests


def test_another_number_of_tests_begins_anew() -> None:
    """The tests have changed: upstream has mended them."""
    standing = Standing().after(Results("one", {"a": PASSED, "b": PASSED}, 2), 0.1, NOON)
    standing = standing.after(Results("one", {"a": PASSED}, 3), 0.1, NOON)

    assert "open" == standing.state("one")
    assert {"a": PASSED} == standing.results.tests


def test_old_contents_are_forgotten() -> None:
    """The file of a kata does not grow for ever; the newest stay, also those seen again."""
    standing = Standing()
    for number in range(CONTENTS + 5):
        standing = standing.after(Results(str(number), {"a": PASSED}, 1), 0.1, NOON)
        standing = standing.after(Results("often", {"a": PASSED}, 1), 0.1, NOON)

    assert CONTENTS == len(standing.states)
    assert "solved" == standing.state("often")
    assert "open" == standing.state("0")


@pytest.mark.parametrize(
    ("minutes", "content", "seconds"),
    [
        (10, "two", 600.0 + 2.0),
        (16, "two", 3.0 + 2.0),
        (10, "one", 3.0 + 2.0),
        (-5, "two", 3.0 + 2.0),
    ],
)
def test_time_is_that_of_tests_and_of_edits(minutes: int, content: str, seconds: float) -> None:
    """A pause counts if the exercise was edited in it and it was no more than 15 minutes."""
    standing = Standing().after(Results("one", {"a": PASSED}, 1), 2.0, NOON)
    later = NOON + timedelta(minutes=minutes)
    standing = standing.after(Results(content, {"a": PASSED}, 1), 3.0, later)

    # The second run's three seconds are part of the ten minutes.
    assert seconds == standing.seconds
    assert later.isoformat() == standing.last


def test_the_content_is_that_of_the_learners_files(tmp_path: Path) -> None:
    """Python module and C++ sources; neither line ends nor other files matter."""
    kata = a_kata(tmp_path, ("csrc/k01.cpp",))
    (tmp_path / "csrc").mkdir()
    empty = content_of(kata)
    (tmp_path / "csrc/k01.cpp").write_bytes(b"int x;\n")
    source = content_of(kata)
    (tmp_path / "k01_first.py").write_bytes(b"x = 1\n")
    both = content_of(kata)
    (tmp_path / "test_k01_first.py").write_bytes(b"def test(): pass\n")
    (tmp_path / "csrc/k01.cpp").write_bytes(b"int x;\r\n")

    assert 3 == len({empty, source, both})
    assert both == content_of(kata)


def test_text_moved_between_files_is_another_content(tmp_path: Path) -> None:
    """The digest knows where one file ends and the next begins."""
    kata = a_kata(tmp_path, ("b.cpp",))
    (tmp_path / "k01_first.py").write_bytes(b"one\ntwo\n")
    (tmp_path / "b.cpp").write_bytes(b"")
    before = content_of(kata)
    (tmp_path / "k01_first.py").write_bytes(b"one\n")
    (tmp_path / "b.cpp").write_bytes(b"two\n")

    assert before != content_of(kata)


def test_it_survives_json() -> None:
    """What is written is read as it was."""
    standing = Standing().after(Results("one", {"a": PASSED, "b": SKIPPED}, 2), 0.5, NOON)

    assert standing == from_data(json.loads(json.dumps(to_data(standing))))


def test_the_day_of_the_first_solution_is_kept() -> None:
    """Whatever becomes of the kata afterwards; memories that lack the day have that of the run."""
    runs = [("one", FAILED), ("two", PASSED), ("two", PASSED), ("three", FAILED)]
    standing, days = Standing(), []
    for day, (content, outcome) in enumerate(runs):
        now = NOON + timedelta(days=day)
        standing = standing.after(Results(content, {"a": outcome}, 1), 0.1, now)
        data = to_data(standing)
        assert data.pop("solved") == standing.solved
        days.append((standing.solved_at, from_data(data).solved_at))
    second, third = ((NOON + timedelta(days=day)).isoformat() for day in (1, 2))

    assert [("", ""), (second, second), (second, third), (second, "")] == days


@pytest.mark.parametrize("change", [{"version": 2}, {"results": []}, {"states": 3}])
def test_what_is_no_standing_is_refused(change: dict[str, object]) -> None:
    """By an error that the memory takes for nothing remembered."""
    with pytest.raises((ValueError, TypeError, AttributeError)):
        from_data(to_data(Standing()) | change)
