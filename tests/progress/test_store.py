"""The files below ``.katas``: read and written whole, by any number of processes at once."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC
from datetime import datetime
from datetime import timedelta
from pathlib import Path

import pytest

from plugins.course.model import Kata
from plugins.progress.standing import Results
from plugins.progress.standing import Standing
from plugins.progress.standing import TestOutcome
from plugins.progress.store import BOOKMARK
from plugins.progress.store import HINTS
from plugins.progress.store import LAST
from plugins.progress.store import Bookmark
from plugins.progress.store import LastRun
from plugins.progress.store import change_bookmark
from plugins.progress.store import change_count
from plugins.progress.store import change_standing
from plugins.progress.store import note_run
from plugins.progress.store import note_time
from plugins.progress.store import read_bookmark
from plugins.progress.store import read_counts
from plugins.progress.store import read_last_run
from plugins.progress.store import read_standing
from plugins.progress.store import read_standings
from plugins.progress.store import solved_among
from plugins.progress.store import standing_file


KATA = Kata("lecture01", "k01_first", "T", "lab", (), (), (), (), (), (), (), Path("lecture01"))
FIRST, LATER = "lecture77/k01_first", "lecture77/k02_later"
WRITERS = 4
TIMES = 25
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def one_second_more(standing: Standing) -> Standing:
    """Return a standing with one second more."""
    return replace(standing, seconds=standing.seconds + 1)


def add_seconds(root: Path, times: int) -> None:
    """Add one second, `times` times."""
    for _ in range(times):
        change_standing(root, KATA, one_second_more)


def take_hints(root: Path, kata: str, times: int) -> None:
    """Take one hint, `times` times."""
    for _ in range(times):
        change_count(root, kata, lambda count: count + 1)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """And before that nothing is remembered."""
    assert Standing() == read_standing(tmp_path, KATA)
    change_standing(tmp_path, KATA, one_second_more)

    assert Standing(seconds=1.0) == read_standing(tmp_path, KATA)


def test_a_map_opens_the_files_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is stored of most katas; katas of two lectures may have one name."""
    katas = [
        replace(KATA, lecture=lecture, name=name)
        for lecture in ("lecture01", "lecture77")
        for name in ("k01_first", "k02_later")
    ]
    asked: list[str] = []

    def named(root: Path, kata: Kata) -> Path:
        asked.append(kata.id)
        return standing_file(root, kata)

    monkeypatch.setattr("plugins.progress.store.standing_file", named)

    assert [(kata, Standing()) for kata in katas] == list(read_standings(tmp_path, katas))
    assert not asked

    change_standing(tmp_path, katas[2], one_second_more)
    asked.clear()

    assert [0.0, 0.0, 1.0, 0.0] == [
        standing.seconds for _, standing in read_standings(tmp_path, katas)
    ]
    assert [FIRST] == asked


def test_the_folder_of_another_lecture_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command for one lecture asks after every save, and often after no kata at all."""
    monkeypatch.setattr("plugins.progress.store.read_last_run", lambda _: 1 // 0)
    looked: list[str] = []

    def glob(folder: Path, _: str) -> list[Path]:
        looked.append(folder.name)
        return []

    monkeypatch.setattr(Path, "glob", glob)

    assert set() == solved_among(tmp_path, [])
    assert set() == solved_among(tmp_path, [KATA])
    assert [KATA.lecture] == looked


def test_the_format_of_the_files(tmp_path: Path) -> None:
    """A checkout keeps its files from one version of the course to the next."""
    results = Results("one", {"a": TestOutcome("failed", "why"), "b": TestOutcome("passed")}, 2)
    standing = Standing(1.5, "2026-11-22T12:00:00+00:00", {"one": "failing"}, results)
    change_standing(tmp_path, KATA, lambda _: standing)
    change_count(tmp_path, LATER, lambda _: 2)
    change_count(tmp_path, FIRST, lambda _: 1)
    change_bookmark(tmp_path, lambda _: Bookmark(FIRST, (LATER,)))

    assert standing_file(tmp_path, KATA).read_text() == (
        '{"version":1,"seconds":1.5,"last":"2026-11-22T12:00:00+00:00","states":{"one":"failing"},'
        '"results":{"content":"one","tests":{"a":{"verdict":"failed","message":"why"},'
        '"b":{"verdict":"passed","message":""}},"total":2},"solved":""}'
    )
    assert (tmp_path / HINTS).read_text() == (
        f'{{\n  "{FIRST}": 1,\n  "{LATER}": 2\n}}'  # sorted
    )
    assert (tmp_path / BOOKMARK).read_text() == (
        f'{{\n  "shown": "{FIRST}",\n  "skipped": [\n    "{LATER}"\n  ]\n}}'
    )


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"version": 99}', b"\xff\xfe", b"null"])
def test_a_damaged_standing_is_forgotten(tmp_path: Path, damage: bytes) -> None:
    """The learner loses what the file held, and nothing else."""
    change_standing(tmp_path, KATA, one_second_more)
    standing_file(tmp_path, KATA).write_bytes(damage)

    assert Standing() == read_standing(tmp_path, KATA)
    change_standing(tmp_path, KATA, one_second_more)
    assert Standing(seconds=1.0) == read_standing(tmp_path, KATA)


def test_a_read_only_checkout_remembers_no_standing(tmp_path: Path) -> None:
    """And does not complain: a file stands where the folder should."""
    (tmp_path / ".katas").write_text("")
    change_standing(tmp_path, KATA, one_second_more)

    assert Standing() == read_standing(tmp_path, KATA)


def test_no_update_is_lost_between_processes(tmp_path: Path) -> None:
    """Two terminals, or more, write at the same time."""
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=add_seconds, args=(tmp_path, TIMES)) for _ in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert WRITERS * TIMES == read_standing(tmp_path, KATA).seconds


def test_a_killed_writer_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    """Never a part, and never a lock that blocks the next writer."""
    change_standing(tmp_path, KATA, one_second_more)
    context = multiprocessing.get_context("spawn")
    for _ in range(3):
        writer = context.Process(target=add_seconds, args=(tmp_path, 100_000))
        writer.start()
        before = read_standing(tmp_path, KATA).seconds
        while read_standing(tmp_path, KATA).seconds == before:
            time.sleep(0.001)
        assert writer.pid
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        assert read_standing(tmp_path, KATA).seconds > before
        change_standing(tmp_path, KATA, one_second_more)


def test_a_run_is_told_the_run_before(tmp_path: Path) -> None:
    """Of whichever kata; each run is stored in one step with that."""
    moments = [NOON + timedelta(microseconds=number) for number in range(20)]

    first = LastRun(NOON.isoformat())
    assert first == note_run(tmp_path, NOON) == read_last_run(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda now: note_run(tmp_path, now), moments[1:]))
    # A chain: each but the last is the one before of exactly one.
    assert {run.before for run in runs} < {moment.isoformat() for moment in moments}
    assert len(runs) == len({run.before for run in runs})


def test_the_last_run_that_looked_knows_what_is_here(tmp_path: Path) -> None:
    """Skips for a lack of it count again when it is gone again."""
    skipped = Results("one", {"a": TestOutcome("skipped", "cxx: no compiler")}, 1)
    change_standing(tmp_path, KATA, lambda old: old.after(skipped, 1.0, NOON))
    seen = []
    for found, lacked in ((), ()), (("cxx", "cpu"), ()), ((), ("mps",)), ((), ("cxx", "")):
        run = note_run(tmp_path, NOON, found, lacked)
        seen.append((run.found, read_standing(tmp_path, KATA).state("one")))

    here = ("cpu", "cxx")
    assert seen[:2] == [((), "unavailable"), (here, "open")]
    assert seen[2:] == [(here, "open"), (("cpu",), "unavailable")]


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"at": "noon"}', '{"at": 1}', "null"])
def test_a_damaged_last_run_is_none(tmp_path: Path, damage: str) -> None:
    """The next run writes it anew."""
    note_run(tmp_path, NOON)
    (tmp_path / LAST).write_text(damage)

    assert NOON.isoformat() == note_run(tmp_path, NOON).at
    assert NOON.isoformat() == note_run(tmp_path, NOON).before


def test_counts_survive(tmp_path: Path) -> None:
    """They are kept in the state folder, which is made when needed."""
    assert 2 == change_count(tmp_path, FIRST, lambda count: count + 2)
    assert 1 == change_count(tmp_path, LATER, lambda count: count + 1)

    assert {FIRST: 2, LATER: 1} == read_counts(tmp_path)


def test_damaged_counts_count_as_none(tmp_path: Path) -> None:
    """Whatever the file holds, the learner gets the first hint, not a traceback."""
    change_count(tmp_path, FIRST, lambda _: 3)
    for damage in (
        "",
        "[]",
        '{"lecture77/k01_first": null}',
        '{"a": "b"}',
        b"\xff".decode("latin1"),
    ):
        (tmp_path / HINTS).write_text(damage, encoding="latin1")

        assert {} == read_counts(tmp_path)


def test_a_count_that_cannot_be_written_is_forgotten(tmp_path: Path) -> None:
    """A file where the state folder should be costs the learner nothing."""
    (tmp_path / ".katas").write_text("in the way")

    assert 1 == change_count(tmp_path, FIRST, lambda count: count + 1)
    assert "in the way" == (tmp_path / ".katas").read_text()


def test_two_terminals_at_once_get_two_hints(tmp_path: Path) -> None:
    """No count is lost between processes, of one kata or of several."""
    context = multiprocessing.get_context("spawn")
    katas = [FIRST, FIRST, LATER]
    takers = [context.Process(target=take_hints, args=(tmp_path, kata, 30)) for kata in katas]
    for taker in takers:
        taker.start()
    for taker in takers:
        taker.join()

    assert {FIRST: 60, LATER: 30} == read_counts(tmp_path)


def test_a_changed_bookmark_is_remembered(tmp_path: Path) -> None:
    """And before that there is none."""
    assert Bookmark() == read_bookmark(tmp_path)
    new = change_bookmark(tmp_path, lambda old: replace(old, shown="a", skipped=("b", "c")))

    assert Bookmark("a", ("b", "c")) == new == read_bookmark(tmp_path)


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"shown": "a", "skipped": 1}', "null"])
def test_a_damaged_bookmark_counts_as_none(tmp_path: Path, damage: str) -> None:
    """Only what it held is lost."""
    change_bookmark(tmp_path, lambda _: Bookmark("a"))
    (tmp_path / BOOKMARK).write_text(damage)

    assert Bookmark() == read_bookmark(tmp_path)


def test_a_read_only_checkout_remembers_no_bookmark(tmp_path: Path) -> None:
    """The command goes on: a file stands where the folder should."""
    (tmp_path / ".katas").write_text("")

    assert Bookmark("a") == change_bookmark(tmp_path, lambda _: Bookmark("a"))
    assert Bookmark() == read_bookmark(tmp_path)


def test_a_change_that_fails_makes_no_file(tmp_path: Path) -> None:
    """As ``--skip`` does before ``--next`` has shown anything."""

    def refuse(_: Bookmark) -> Bookmark:
        raise pytest.UsageError

    with pytest.raises(pytest.UsageError):
        change_bookmark(tmp_path, refuse)

    assert [] == list(tmp_path.iterdir())


def test_no_change_of_the_bookmark_is_lost(tmp_path: Path) -> None:
    """Though several are made at once."""

    def skip_one(number: int) -> None:
        change_bookmark(tmp_path, lambda old: replace(old, skipped=(*old.skipped, str(number))))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(skip_one, range(40)))

    assert set(map(str, range(40))) == set(read_bookmark(tmp_path).skipped)


def test_what_the_katas_of_a_day_took_is_added_up(tmp_path: Path) -> None:
    """A new day begins anew, a run alone adds nothing, and an older file knows none."""
    older = {"at": NOON.isoformat(), "before": "", "found": []}
    (tmp_path / LAST).parent.mkdir(parents=True)
    (tmp_path / LAST).write_text(json.dumps(older))
    local = NOON.astimezone().replace(hour=9)
    day = local.date()
    note_time(tmp_path, local - timedelta(days=1), 30.0)
    note_time(tmp_path, local, 60.0)
    note_run(tmp_path, local + timedelta(minutes=10))
    last = note_time(tmp_path, local + timedelta(minutes=11), 90.0)

    assert 150.0 == last.spent_on(day)
    assert 0.0 == last.spent_on(day - timedelta(days=1))
    assert (local + timedelta(minutes=10)).isoformat() == last.at
    assert last == read_last_run(tmp_path)
