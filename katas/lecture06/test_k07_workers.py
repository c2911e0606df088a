"""Tests of k07_workers: real processes raise errors, are abandoned, and are killed."""

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


# Seconds: to wait for what should happen, for what should not, and for a whole test.
LONG, SHORT, LIMIT = 6, 0.3, 10
one = pytest.mark.step(1, "a worker answers")
two = pytest.mark.step(2, "in order, some ahead")
three = pytest.mark.step(3, "errors come over")
four = pytest.mark.step(4, "every end is clean")


@pytest.fixture(autouse=True)
def deadline() -> Iterator[None]:
    """Fail a test that waits for something that never comes, long before its time limit."""

    def late(_signal: int, frame: FrameType | None) -> None:
        file, where = work.__code__.co_filename, "outside of your file"
        while frame is not None and frame.f_code.co_filename != file:
            frame = frame.f_back
        if frame is not None:
            line = linecache.getline(file, frame.f_lineno).strip()
            where = f"in line {frame.f_lineno} of your file, {line}"
        raise AssertionError(
            f"nothing happened for {LIMIT} seconds: this process is waiting {where}"
        )

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


class Samples:
    """Calls a function for each sample; it may be a lambda, since fork pickles no dataset."""

    def __init__(self, sample: Callable[[int], Any]) -> None:
        self.sample = sample

    def __len__(self) -> int:
        return 100

    def __getitem__(self, index: int) -> Any:
        return self.sample(index)


def broken(index: int) -> int:
    """Return a square, but raise for 3."""
    if index == 3:
        raise KeyError("no record 3")
    return index * index


def worked(sample: Callable[[int], Any], *tasks: list[int]) -> list[Any]:
    """Run `work` in this process with all its tasks in the pipe, and return what it sends."""
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
    """Return whether this process exists, alive or waiting to be joined."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def check_gone(pids: set[int]) -> None:
    """Check that these workers have ended and were joined."""
    __tracebackhide__ = True
    left = [pid for pid in pids if is_there(pid)] + mp.active_children()
    for child in mp.active_children():
        child.kill()
        child.join()

    assert pids, "no worker was seen"
    assert os.getpid() not in pids, "the trainer's own process made a batch"
    assert not left, f"workers still running, or ended but not joined: {left}. Think of finally"


@one
def test_a_task_becomes_a_batch() -> None:
    """A batch is a list of samples, in the order of the indices."""
    yours = worked(lambda index: index * 10, [3, 1, 2])

    assert [[30, 10, 20]] == yours, (
        f"task [3, 1, 2]: your worker sent {yours}, expected [[30, 10, 20]]"
    )


@one
def test_a_worker_goes_on_until_none() -> None:
    """A worker makes one batch for each task, even an empty one, until it gets None."""
    yours = worked(str, [1], [], [2, 3])

    assert [["1"], [], ["2", "3"]] == yours, (
        f"three tasks, then None: your worker sent {yours}, expected [['1'], [], ['2', '3']]"
    )


@two
def test_a_slow_worker_does_not_change_the_order() -> None:
    """The faster worker's batches wait in its pipe."""

    def slow(index: int) -> int:
        time.sleep(0.2 if index == 0 else 0)
        return index

    yours = list(Loader(Samples(slow), singles(6), workers=2))

    assert singles(6) == yours, f"batch 0 is slow: yours {yours}, expected the order of the tasks"


@two
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_batches_come_in_order(count: int, workers: int) -> None:
    """Batches keep their order, even with more workers than tasks, and in a second epoch."""
    tasks = [[i, i + 1] for i in range(count)]
    loader = Loader(Samples(lambda index: index * 10), tasks, workers=workers)
    expected = [[10 * i, 10 * i + 10] for i in range(count)]
    for epoch in range(2):
        yours = list(loader)

        assert yours == expected, (
            f"{workers} workers, epoch {epoch}: yours {yours}, expected {expected}"
        )


@two
def test_workers_take_turns() -> None:
    """Worker k % workers makes batch k, in a process of its own."""
    pids = [
        pid for ((_, pid),) in Loader(Samples(lambda i: (i, os.getpid())), singles(7), workers=3)
    ]

    assert 3 == len(set(pids)), f"3 workers: the batches come from the processes {pids}, expected 3"
    assert os.getpid() not in pids, "your loader makes batches in the trainer's own process"
    assert pids[:3] * 2 == pids[:6], f"the batches come from {pids}, expected all three in turn"


@two
@pytest.mark.parametrize("ahead", [1, 2])
def test_some_tasks_are_out_and_no_more(tmp_path: Path, ahead: int) -> None:
    """While batch k is in use, only tasks up to k + ahead * workers - 1 are sent."""

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
            f"batch {number} in use, ahead {ahead}: expected {expected} tasks sent, but fewer were"
        )
        is_too_far = made(expected + 1, SHORT)
        assert not is_too_far, (
            f"batch {number} in use, ahead {ahead}: expected {expected} tasks sent, but more were"
        )
    batches.close()


@two
def test_others_are_out_while_a_batch_is_awaited(tmp_path: Path) -> None:
    """While batch 0 is awaited, task 1 is sent: sample 0 waits until worker 1 begins sample 1."""

    def patient(index: int) -> bool:
        (tmp_path / str(index)).touch()
        end = time.monotonic() + 5
        while not (tmp_path / "1").exists() and time.monotonic() < end:
            time.sleep(0.01)
        return (tmp_path / "1").exists()

    batches = iter(Loader(Samples(patient), singles(4), workers=2, ahead=1))
    (is_out,) = next(batches)
    batches.close()

    assert is_out, (
        "while batch 0 is awaited (ahead 1, two workers), task 1 was not sent; expected 0 and 1"
    )


@three
def test_a_worker_survives_an_error() -> None:
    """The worker sends the traceback in place of the batch, and continues."""
    try:
        sent = worked(broken, [1], [2, 3], [4])
    except KeyError as error:
        raise AssertionError(
            f"the dataset's {error!r} for sample 3 ended your worker: catch the error inside the"
            " loop over tasks"
        ) from error
    assert 3 == len(sent), (
        f"the dataset raises in the second of three tasks: your worker sent {sent}, expected a"
        " batch, a Failure and a batch"
    )
    first, second, third = sent

    assert ([1], [16]) == (first, third), (
        f"before and after the error your worker sent {first} and {third}, expected [1] and [16]"
    )
    assert isinstance(second, Failure), f"your worker sent {second}, expected a Failure"
    assert "KeyError: 'no record 3'" in second.text, (
        f"your text is {second.text!r}, which does not name the error as a traceback does:"
        " KeyError: 'no record 3'"
    )
    assert "in broken" in second.text, (
        f"your text is {second.text!r}, without a traceback: it has to show that the dataset"
        " failed inside `broken`; see traceback.format_exc"
    )


@three
def test_an_error_comes_in_its_turn() -> None:
    """The error comes after the batches before it, with the worker's traceback as text."""
    found: list[list[int]] = []
    batches = iter(Loader(Samples(broken), singles(6), workers=2))
    try:
        found.extend(batches)
    except RuntimeError as error:
        text = str(error)
    else:
        text = "no RuntimeError"

    assert [[0], [1], [4]] == found, f"batches before the error: yours {found}, expected 0, 1, 4"
    assert "KeyError: 'no record 3'" in text, (
        f"sample 3 raises a KeyError, but your error is {text!r}"
    )
    assert "in broken" in text, (
        f"your error is {text!r}, without the worker's traceback, which goes through `broken`"
    )


@four
def test_a_killed_worker_is_noticed() -> None:
    """``kill -9`` ends a worker mid-epoch, as the kernel does when memory runs out."""
    batches = iter(Loader(Samples(lambda _: os.getpid()), singles(50), workers=2))
    (first,), (second,) = next(batches), next(batches)
    os.kill(second, signal.SIGKILL)
    text, more = outcome(batches)

    assert re.search(rf"\b{second}\b.* exited unexpectedly", text), (
        f"worker {second} was killed; yours is {text!r} after {len(more)} more batches, expected"
        f" 'DataLoader worker (pid(s) {second}) exited unexpectedly'"
    )
    assert len(more) < 10, (
        f"{len(more)} more batches arrived, expected under 10: worker {second} was killed"
    )
    check_gone({first, second})


def outcome(batches: Iterator[list[Any]]) -> tuple[str, list[Any]]:
    """Return the text of the RuntimeError that ends the batches, and the batches before it."""
    found: list[Any] = []
    try:
        found.extend(batches)
    except RuntimeError as error:
        return str(error), found
    return "no RuntimeError", found


@four
def test_a_worker_may_die_in_a_batch() -> None:
    """Native code may end a worker without an exception; its earlier batches still arrive."""

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

    assert "exited unexpectedly" in text, f"worker 1 dies at sample 3, but your error is {text!r}"
    assert singles(3) == [first, *found], (
        f"worker 1 had sent batch 1 before it died: yours {[first, *found]}, expected the"
        " batches 0, 1, 2"
    )


@four
@pytest.mark.parametrize("used", [1, 50])
def test_no_process_is_left(used: int) -> None:
    """After the last batch, or a break, all workers have been told to stop and been joined."""
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
    """The trainer is done, so do not wait for a sample that takes an hour."""

    def endless(index: int) -> int:
        time.sleep(3600 if index > 1 else 0)
        return os.getpid()

    batches = iter(Loader(Samples(endless), singles(20), workers=2))
    pids = {next(batches)[0], next(batches)[0]}
    batches.close()

    check_gone(pids)


@four
def test_an_error_leaves_no_process() -> None:
    """Neither an error in the dataset nor one in the trainer leaves a process behind."""
    before = set(mp.active_children())
    text, _ = outcome(iter(Loader(Samples(broken), singles(50), workers=2)))
    left = set(mp.active_children()) - before

    assert "KeyError" in text, f"sample 3 raises a KeyError, but your error is {text!r}"
    assert not left, f"after an error in the dataset, these processes are left: {left}"
