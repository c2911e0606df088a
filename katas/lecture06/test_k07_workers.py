"""Tests of k07_workers: real processes, which raise, are left, and are killed."""

from __future__ import annotations

import linecache
import multiprocessing as mp
import os
import re
import signal
import time
from typing import TYPE_CHECKING
from typing import Any

import pytest

from katas.lecture06.k07_workers import Failure
from katas.lecture06.k07_workers import Loader
from katas.lecture06.k07_workers import work


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from pathlib import Path
    from types import FrameType


# Seconds: how long to wait for what comes, and for what is not to come; for a whole test.
LONG, SHORT, LIMIT = 6, 0.3, 10
one = pytest.mark.step(1, "a worker answers")
two = pytest.mark.step(2, "in order, some ahead")
three = pytest.mark.step(3, "errors come over")
four = pytest.mark.step(4, "every end is clean")


@pytest.fixture(autouse=True)
def deadline() -> Iterator[None]:
    """Fail a test that waits for what never comes, long before its time limit."""

    def late(_signal: int, frame: FrameType | None) -> None:
        file, where = work.__code__.co_filename, "outside of your file"
        while frame is not None and frame.f_code.co_filename != file:
            frame = frame.f_back
        if frame is not None:
            line = linecache.getline(file, frame.f_lineno).strip()
            where = f"in line {frame.f_lineno} of your file, {line}"
        raise AssertionError(f"nothing has come for {LIMIT} seconds: this process waits {where}")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


class Samples:
    """Calls a function for each sample; a lambda will do, since a fork pickles no dataset."""

    def __init__(self, sample: Callable[[int], Any]) -> None:
        self.sample = sample

    def __len__(self) -> int:
        return 100

    def __getitem__(self, index: int) -> Any:
        return self.sample(index)


def broken(index: int) -> int:
    """Return a square, except of 3."""
    if index == 3:
        raise KeyError("no record 3")
    return index * index


def worked(sample: Callable[[int], Any], *tasks: list[int]) -> list[Any]:
    """Run `work` in this process, with all its tasks waiting, and return what it sends."""
    tasks_out, tasks_in = mp.Pipe(duplex=False)
    batches_out, batches_in = mp.Pipe(duplex=False)
    for task in [*tasks, None]:
        tasks_in.send(task)
    work(Samples(sample), tasks_out, batches_in)
    sent = []
    while batches_out.poll():
        sent.append(batches_out.recv())
    return sent


def singles(count: int) -> list[list[int]]:
    """Return tasks of one sample each."""
    return [[index] for index in range(count)]


def is_there(pid: int) -> bool:
    """Whether there is such a process, alive or waiting to be joined."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def check_gone(pids: set[int]) -> None:
    """Check that these workers have ended, and were joined."""
    __tracebackhide__ = True
    left = [pid for pid in pids if is_there(pid)] + mp.active_children()
    for child in mp.active_children():
        child.kill()
        child.join()

    assert pids, "no worker has been seen"
    assert os.getpid() not in pids, "a batch was made in the trainer's own process"
    assert not left, f"still there, or ended and not joined: {left}. Think of finally"


@one
def test_a_task_becomes_a_batch() -> None:
    """A list of samples, in the order of the indices."""
    yours = worked(lambda index: index * 10, [3, 1, 2])

    assert [[30, 10, 20]] == yours, f"task [3, 1, 2]: yours sent {yours}, expected [[30, 10, 20]]"


@one
def test_a_worker_goes_on_until_none() -> None:
    """One batch for each task; an empty task is one too."""
    yours = worked(str, [1], [], [2, 3])

    assert [["1"], [], ["2", "3"]] == yours, f"three tasks, then None: yours sent {yours}"


@two
def test_a_slow_worker_does_not_change_the_order() -> None:
    """The batches of the other wait in its pipe."""

    def slow(index: int) -> int:
        time.sleep(0.2 if index == 0 else 0)
        return index

    yours = list(Loader(Samples(slow), singles(6), workers=2))

    assert singles(6) == yours, f"batch 0 is slow: yours {yours}, expected the order of the tasks"


@two
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_batches_come_in_order(count: int, workers: int) -> None:
    """More workers than tasks, too; and the loader may be used again."""
    tasks = [[i, i + 1] for i in range(count)]
    loader = Loader(Samples(lambda index: index * 10), tasks, workers=workers)
    expected = [[10 * i, 10 * i + 10] for i in range(count)]
    for epoch in range(2):
        yours = list(loader)

        assert yours == expected, f"{workers} workers, epoch {epoch}: yours {yours}, not {expected}"


@two
def test_workers_take_turns() -> None:
    """Batch k is made by worker k % workers, which is a process of its own."""
    pids = [
        pid for ((_, pid),) in Loader(Samples(lambda i: (i, os.getpid())), singles(7), workers=3)
    ]

    assert 3 == len(set(pids)), f"3 workers: yours used the processes {pids}"
    assert os.getpid() not in pids, "yours makes batches in the trainer's own process"
    assert pids[:3] * 2 == pids[:6], f"yours used {pids}, expected the three in turn"


@two
@pytest.mark.parametrize("ahead", [1, 2])
def test_some_tasks_are_out_and_no_more(tmp_path: Path, ahead: int) -> None:
    """While batch k is in use: up to k + ahead * workers - 1, so memory has a bound."""

    def noted(index: int) -> int:
        (tmp_path / str(index)).touch()
        return index

    def made(count: int, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while len(os.listdir(tmp_path)) < count and time.monotonic() < end:  # noqa: PTH208
            time.sleep(0.01)
        return len(os.listdir(tmp_path)) >= count  # noqa: PTH208

    batches = iter(Loader(Samples(noted), singles(50), workers=2, ahead=ahead))
    for number in range(3):
        next(batches)
        expected = number + 2 * ahead
        assert made(expected, LONG), (
            f"batch {number} in use, ahead {ahead}: expected {expected} tasks out, yours has fewer"
        )
        is_too_far = made(expected + 1, SHORT)
        assert not is_too_far, (
            f"batch {number} in use, ahead {ahead}: expected {expected} tasks out, yours has more"
        )
    batches.close()


@two
def test_others_are_out_while_a_batch_is_awaited(tmp_path: Path) -> None:
    """Not only when it has come: sample 0 takes until sample 1 is begun, by the other worker."""

    def patient(index: int) -> bool:
        (tmp_path / str(index)).touch()
        end = time.monotonic() + 5
        while not (tmp_path / "1").exists() and time.monotonic() < end:
            time.sleep(0.01)
        return (tmp_path / "1").exists()

    batches = iter(Loader(Samples(patient), singles(4), workers=2, ahead=1))
    (is_out,) = next(batches)
    batches.close()

    assert is_out, "batch 0 is awaited, ahead 1, two workers: task 1 is not out; expected 0 and 1"


@three
def test_a_worker_survives_an_error() -> None:
    """It sends the traceback in place of the batch, and goes on."""
    try:
        sent = worked(broken, [1], [2, 3], [4])
    except KeyError as error:
        raise AssertionError(
            f"the dataset's {error!r} for sample 3 has ended your worker: catch it for each task"
        ) from error
    assert 3 == len(sent), (
        f"three tasks, and the dataset raises in the second: yours sent {sent}, expected a batch, a"
        " Failure and a batch"
    )
    first, second, third = sent

    assert ([1], [16]) == (first, third), f"around the error yours sent {first} and {third}"
    assert isinstance(second, Failure), f"yours sent {second}, expected a Failure"
    assert "KeyError: 'no record 3'" in second.text, (
        f"the text of yours is {second.text!r}, which does not name the error as a traceback does:"
        " KeyError: 'no record 3'"
    )
    assert "in broken" in second.text, (
        f"the text of yours is {second.text!r}, without a traceback: it has to say that the dataset"
        " was in `broken`; see traceback.format_exc"
    )


@three
def test_an_error_comes_in_its_turn() -> None:
    """After the batches before it, with the worker's traceback as text."""
    found: list[list[int]] = []
    batches = iter(Loader(Samples(broken), singles(6), workers=2))
    try:
        found.extend(batches)
    except RuntimeError as error:
        text = str(error)
    else:
        text = "no RuntimeError"

    assert [[0], [1], [4]] == found, f"before the error yours gave {found}, expected 0, 1, 4"
    assert "KeyError: 'no record 3'" in text, f"sample 3 raises; yours says {text!r}"
    assert "in broken" in text, (
        f"yours says {text!r}, without the traceback of the worker, which was in `broken`"
    )


@four
def test_a_killed_worker_is_noticed() -> None:
    """``kill -9`` from outside in mid-epoch, as the kernel does when memory runs out."""
    batches = iter(Loader(Samples(lambda _: os.getpid()), singles(50), workers=2))
    (first,), (second,) = next(batches), next(batches)
    os.kill(second, signal.SIGKILL)
    text, more = outcome(batches)

    assert re.search(rf"\b{second}\b.* exited unexpectedly", text), (
        f"worker {second} was killed; yours says {text!r} after {len(more)} batches more, expected"
        f" 'DataLoader worker (pid(s) {second}) exited unexpectedly'"
    )
    assert len(more) < 10, f"yours gave {len(more)} batches more: who made those of {second}?"
    check_gone({first, second})


def outcome(batches: Iterator[list[Any]]) -> tuple[str, list[Any]]:
    """Return the text of the RuntimeError with which the batches end, and those before it."""
    found: list[Any] = []
    try:
        found.extend(batches)
    except RuntimeError as error:
        return str(error), found
    return "no RuntimeError", found


@four
def test_a_worker_may_die_in_a_batch() -> None:
    """In native code, say: no exception, no traceback. The batches before it still come."""

    def fatal(index: int) -> int:
        if index == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return index

    before = len(mp.active_children())
    batches = iter(Loader(Samples(fatal), singles(20), workers=2, ahead=3))
    first, end = next(batches), time.monotonic() + LONG
    while len(mp.active_children()) > before + 1 and time.monotonic() < end:
        time.sleep(0.01)
    text, found = outcome(batches)

    assert "exited unexpectedly" in text, f"worker 1 dies at sample 3; yours says {text!r}"
    assert singles(3) == [first, *found], (
        f"worker 1 was dead when batch 1 was asked for, which it had sent: yours gave"
        f" {[first, *found]}, expected the batches 0, 1, 2"
    )


@four
@pytest.mark.parametrize("used", [1, 50])
def test_no_process_is_left(used: int) -> None:
    """After the last batch, and after a break; the workers were told, waited for and joined."""
    pids = set()
    for number, (pid,) in enumerate(
        Loader(Samples(lambda _: os.getpid()), singles(50), workers=2), start=1
    ):
        pids.add(pid)
        if number == used:
            break

    check_gone(pids)


@four
def test_a_worker_that_computes_is_not_waited_for() -> None:
    """Trainer and data are finished; a sample that takes an hour is not."""

    def endless(index: int) -> int:
        time.sleep(3600 if index > 1 else 0)
        return os.getpid()

    batches = iter(Loader(Samples(endless), singles(20), workers=2))
    pids = {next(batches)[0], next(batches)[0]}
    batches.close()

    check_gone(pids)


@four
def test_an_error_leaves_no_process() -> None:
    """Neither an error of the dataset nor one of the trainer."""
    before = set(mp.active_children())
    text, _ = outcome(iter(Loader(Samples(broken), singles(50), workers=2)))
    left = set(mp.active_children()) - before

    assert "KeyError" in text, f"sample 3 raises; yours says {text!r}"
    assert not left, f"after an error of the dataset, {left} is left"
