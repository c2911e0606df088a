"""Tests of k08_logs: writers that write, pause and die at chosen moments, and one that aborts."""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import count
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture18.k08_logs import follow
from katas.lecture18.k08_logs import merged


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from pathlib import Path

    Writer = tuple[Callable[[], bool], Callable[[], None]]


def writer(path: Path, *pauses: bytes, at_death: bytes | None = None) -> Writer:
    """Return `alive` and `pause` of a writer that writes the next bytes at each pause.

    With nothing left, it writes `at_death` and dies when `alive` is called next.
    """
    left, asked = [*pauses], count(1)

    def write(data: bytes | None) -> None:
        if data is not None:
            with path.open("ab") as file:
                file.write(data)

    def alive() -> bool:
        assert next(asked) < 1000, (
            "a thousand polls ran without a pause: do all your reads start at the same offset?"
        )
        if not left:
            write(at_death)
        return bool(left)

    return alive, lambda: write(left.pop(0))


def same(yours: list[str], expected: list[str], why: str) -> None:
    """Compare lines."""
    __tracebackhide__ = True
    assert yours == expected, f"{why}\nyours    {yours}\nexpected {expected}"


def test_a_finished_log(tmp_path: Path) -> None:
    """The writer is dead: yield all lines, and do not wait."""
    path = tmp_path / "stdout.log"
    path.write_bytes(b"epoch 1\n\nepoch 2\n")

    def pause() -> None:
        raise AssertionError("your code pauses for a writer that is dead")

    same(
        list(follow(path, lambda: False, pause)),
        ["epoch 1", "", "epoch 2"],
        "a whole log: an empty line is a line, and there is none after the last newline",
    )


@pytest.mark.time_limit(5)
def test_a_growing_log(tmp_path: Path) -> None:
    """Each line is yielded once, in order, from a file that does not exist at first."""
    path = tmp_path / "stdout.log"
    alive, pause = writer(path, b"a\nb\n", b"c\n", b"", b"d\n")
    same([*follow(path, alive, pause)], ["a", "b", "c", "d"], "lines written in three parts")


@pytest.mark.time_limit(5)
def test_the_last_line_of_a_dead_writer(tmp_path: Path) -> None:
    """The writer writes and dies after your last read, just before you call `alive`."""
    path = tmp_path / "stderr.log"
    alive, pause = writer(path, b"epoch 7\n", at_death=b"CUDA error\n")
    same(
        [*follow(path, alive, pause)],
        ["epoch 7", "CUDA error"],
        "the writer wrote a line and died while alive() was asked, which then said False. Whoever"
        " reads first and asks afterwards stops without it",
    )


@pytest.mark.time_limit(5)
def test_a_line_in_two_parts(tmp_path: Path) -> None:
    """Half a line is not a line yet, unless its writer is dead."""
    path = tmp_path / "stdout.log"
    alive, pause = writer(path, b"los", b"s 0.31\nlo", b"ss 0.2", at_death=b"")
    same([*follow(path, alive, pause)], ["loss 0.31", "loss 0.2"], "lines cut by a flush")
    path.write_bytes(b"half")
    pauses: list[int] = []
    asked = count(1)
    same(
        [*follow(path, lambda: next(asked) < 4, lambda: pauses.append(1))], ["half"], "half a line"
    )
    assert len(pauses) == 2, (
        "the writer lives through 3 reads: the first finds half a line, two find nothing. "
        f"Expected 2 pauses, your code makes {len(pauses)}: finding half a line needs no pause"
    )


@pytest.mark.time_limit(5)
def test_a_character_in_two_parts(tmp_path: Path) -> None:
    """The bytes are cut anywhere, and some are not UTF-8."""
    path = tmp_path / "stdout.log"
    alive, pause = writer(path, b"\xce", b"\xb8 = 3\n\xff\n", at_death=b"\xe2")
    same([*follow(path, alive, pause)], ["θ = 3", "\ufffd", "\ufffd"], "θ, cut in the middle")


@pytest.mark.time_limit(5)
def test_a_position_counts_bytes(tmp_path: Path) -> None:
    """A character may take several bytes: the next read begins after the last byte."""
    path = tmp_path / "stdout.log"
    alive, pause = writer(path, "é\n".encode(), b"loss\n")
    same(
        [*follow(path, alive, pause)],
        ["é", "loss"],
        "é is two bytes and one character, and a position is a number of bytes",
    )


def test_a_line_ends_at_its_newline_only(tmp_path: Path) -> None:
    """A progress bar is one line, and a line keeps its trailing blanks."""
    path = tmp_path / "stdout.log"
    path.write_bytes(b"10%\r20%\na\r\n b \t\n\x0c\n")
    same(
        [*follow(path, lambda: False, lambda: None)],
        ["10%\r20%", "a\r", " b \t", "\x0c"],
        "only the newline ends a line, and only the newline is taken away: does yours use"
        " splitlines, or strip?",
    )


@pytest.mark.time_limit(5)
def test_a_log_that_never_exists(tmp_path: Path) -> None:
    """A writer that dies before it opens its file has written nothing."""
    pauses: list[int] = []
    yours = [*follow(tmp_path / "no.log", lambda: len(pauses) < 3, lambda: pauses.append(1))]
    same(yours, [], "no file")
    assert len(pauses) == 3, (
        f"the writer was still alive during 3 reads that found nothing: your code paused"
        f" {len(pauses)} times, expected 3"
    )


@pytest.mark.time_limit(5)
def test_lines_come_at_once(tmp_path: Path) -> None:
    """Lines are yielded at once, not at the end; nothing is read before a line is requested."""
    path = tmp_path / "stdout.log"
    path.write_bytes(b"first\n")

    def pause() -> None:
        raise AssertionError("your code pauses before it yields a line that has been written")

    lines = follow(path, lambda: True, pause)
    same([*islice(lines, 1)], ["first"], "the line that is there")
    seen: list[str] = []
    for line in follow(path, lambda: not seen, pause):
        seen.append(line)  # noqa: PERF402 - the writer dies when this happens
    same(seen, ["first"], "a writer that dies when its line has been seen")


@pytest.mark.time_limit(10)
def test_a_process_that_is_killed(tmp_path: Path) -> None:
    """A real writer is killed in the middle of a line."""
    path = tmp_path / "stdout.log"
    program = (
        "import os, sys; print('told'); sys.stdout.write('la'); sys.stdout.flush(); os.abort()"
    )
    with (
        path.open("wb") as file,
        subprocess.Popen([sys.executable, "-c", program], stdout=file) as process,  # noqa: S603 - the line above
    ):
        yours = [*follow(path, lambda: process.poll() is None, lambda: time.sleep(0.01))]
    same(yours, ["told", "la"], "a process that printed a line and a half, and aborted")


def test_two_logs() -> None:
    """Lines are merged by time; at equal times, in the order of the mapping."""
    logs = {
        "1": ["10:00:01 b", "10:00:03 e"],
        "0": ["10:00:00 a", "10:00:01 c", "10:00:02 d"],
    }
    expected = ["[0] 10:00:00 a", "[1] 10:00:01 b", "[0] 10:00:01 c", "[0] 10:00:02 d"]
    same([*merged(logs)], [*expected, "[1] 10:00:03 e"], "logs named 1 and 0, in this order")
    same([*merged({})], [], "no logs")


def test_a_traceback_stays_together() -> None:
    """A traceback's lines have the time of the line before it, also at the ends of a window."""
    logs = {
        "0 err": ["warming up", "10:00:01 Traceback:", "  File", "ValueError", "10:00:02 bye"],
        "0 out": ["10:00:01 loss", "10:00:01 more"],
    }
    error = ["[0 err] 10:00:01 Traceback:", "[0 err]   File", "[0 err] ValueError"]
    told = ["[0 out] 10:00:01 loss", "[0 out] 10:00:01 more"]
    same(
        [*merged(logs)],
        ["[0 err] warming up", *error, *told, "[0 err] 10:00:02 bye"],
        "lines of a traceback have no time of their own",
    )
    same(
        [*merged(logs, since="10:00:01", until="10:00:02")],
        [*error, *told],
        "the window has its beginning, and not its end; a traceback is in it, or not, as a whole",
    )
    yours = [*merged({"0": ["up"], "1": ["00:00:00 x"]})]
    same(yours, ["[0] up", "[1] 00:00:00 x"], "a line before the first time has 00:00:00")
    yours = [*merged({"0": ["24:00:00 x"]})]
    same(yours, [], "a line at `until`, which is 24:00:00 if nobody says otherwise")


def test_a_clock_that_steps_back() -> None:
    """A log is never reordered: no line is older than the line before."""
    logs = {"a": ["10:00:05 1", "10:00:02 2", "10:00:06 3"], "b": ["10:00:04 x", "10:00:05 y"]}
    expected = ["[b] 10:00:04 x", "[a] 10:00:05 1", "[a] 10:00:02 2", "[b] 10:00:05 y"]
    same([*merged(logs)], [*expected, "[a] 10:00:06 3"], "log a has 5, 2, 6: count 2 as 5")
    same(
        [*merged(logs, since="10:00:05", until="10:00:06")],
        expected[1:],
        "from 5: the line that says 2 counts as 5 here too",
    )


@pytest.mark.time_limit(5)
def test_endless_logs() -> None:
    """Only the requested lines are read; a log ends at its first line at `until`."""
    taken: list[str] = []

    def endless() -> Iterator[str]:
        for n in count():
            taken.append(f"{n}")
            assert n < 100, "your code reads on and on in an endless log"
            yield f"10:{n // 60:02}:{n % 60:02} {n}"

    yours = [*islice(merged({"a": endless(), "b": ["10:00:01 x"]}), 3)]
    same(yours, ["[a] 10:00:00 0", "[a] 10:00:01 1", "[b] 10:00:01 x"], "the first three lines")
    yours = [*merged({"a": endless()}, since="10:00:58", until="10:01:00")]
    same(yours, ["[a] 10:00:58 58", "[a] 10:00:59 59"], "two seconds of an endless log")


@given(st.lists(st.lists(st.integers(0, 6)), max_size=3))
def test_every_line_once(stamps: list[list[int]]) -> None:
    """No line is lost, each log keeps its order, and sorted logs are merged in order."""
    logs = {
        f"{n}": [f"10:00:0{stamp} {k}" for k, stamp in enumerate(sorted(each))]
        for n, each in enumerate(stamps)
    }
    yours = [*merged(logs)]
    for name, lines in logs.items():
        own = [line for line in yours if line.startswith(f"[{name}] ")]
        same(own, [f"[{name}] {line}" for line in lines], f"log {name} of {logs}")
    times = [line.split()[1] for line in yours]
    same(times, sorted(times), f"times of {logs}")


def test_a_night_as_text(tmp_path: Path) -> None:
    """Two replicas with two streams each; one dies."""
    texts = {
        "0 out": b"23:59:58 epoch 1\n23:59:59 loss 0.31\n",
        "0 err": b"warning: no GPU\n",
        "1 out": b"23:59:58 epoch 1\n",
        "1 err": b"23:59:59 Traceback\n  fit()\nRuntimeError: NaN",
    }
    logs = {}
    for name, text in texts.items():
        path = tmp_path / f"{name}.log"
        path.write_bytes(text)
        logs[name] = follow(path, lambda: False, lambda: None)
    assert_expected_inline(
        "\n".join(merged(logs)),
        """\
[0 err] warning: no GPU
[0 out] 23:59:58 epoch 1
[1 out] 23:59:58 epoch 1
[0 out] 23:59:59 loss 0.31
[1 err] 23:59:59 Traceback
[1 err]   fit()
[1 err] RuntimeError: NaN""",
    )
