"""Tests of k06_ahead: events instead of clocks show what is made while an item is in use."""

from __future__ import annotations

import gc
import linecache
import multiprocessing as mp
import signal
import sys
import threading
import time
import traceback
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from katas.lecture06.k06_ahead import ahead


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from types import FrameType


# Seconds: to wait for what should happen, for what should not, and for a whole test.
LONG, SHORT, LIMIT = 5, 0.3, 6
# Generators that stay open.
OPEN: list[Iterator[int]] = []


def line_of(frame: FrameType | None) -> str:
    """Return the line of your file that a frame is in, or was called from."""
    file = ahead.__code__.co_filename
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    if frame is None:
        return "outside of your file"
    return f"in line {frame.f_lineno}, {linecache.getline(file, frame.f_lineno).strip()}"


def lines_of(those: Iterable[threading.Thread]) -> str:
    """Return where each of the threads is."""
    frames = sys._current_frames()  # noqa: SLF001 - like faulthandler, but for a message
    return "; ".join(f"{each.name} is {line_of(frames.get(each.ident or 0))}" for each in those)


@pytest.fixture(autouse=True)
def deadline() -> Iterator[None]:
    """Fail a test that waits for something that never comes, long before its time limit."""
    others = threads()

    def late(_signal: int, frame: FrameType | None) -> None:
        where = lines_of(threads() - others)
        raise AssertionError(
            f"nothing happened for {LIMIT} seconds: the caller is {line_of(frame)};"
            f" {where or 'your thread has ended: did it fail to pass on an error?'}"
        )

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


class Source:
    """Yields numbers, and records how many were asked for, and by which threads."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.made = 0
        self.threads: set[int] = set()
        self.changed = threading.Condition()

    def __iter__(self) -> Iterator[int]:
        # Not a generator: asking for the iterator already touches the source.
        self.threads.add(threading.get_ident())
        return self.numbers()

    def numbers(self) -> Iterator[int]:
        """Yield the numbers, and record each."""
        for number in range(self.count):
            with self.changed:
                self.made += 1
                self.changed.notify_all()
            yield number
            self.threads.add(threading.get_ident())

    def reaches(self, made: int, seconds: float) -> bool:
        """Wait until this many have been asked for."""
        with self.changed:
            return self.changed.wait_for(lambda: self.made >= made, seconds)


def threads() -> set[threading.Thread]:
    """Return the running threads."""
    return set(threading.enumerate())


@pytest.mark.parametrize("depth", [1, 2, 50])
@pytest.mark.parametrize("count", [0, 1, 10])
def test_all_items_in_order(count: int, depth: int) -> None:
    """All items come in order, with room for all of them or for one."""
    before = threads()
    source = Source(count)
    yours = list(ahead(source, depth))

    assert list(range(count)) == yours, (
        f"{count} items, depth {depth}: yours {yours}, expected all in order"
    )
    left = threads() - before
    assert not left, f"the source has ended, but your thread has not: {lines_of(left)}"


def test_items_may_be_anything() -> None:
    """None, False and an exception that is not raised are items like any other."""
    items = [None, False, ValueError("an item"), StopIteration(), ()]
    yours = list(ahead(iter(items), 2))

    assert len(items) == len(yours), f"yours {yours}, expected {items}: what marks the end?"
    assert all(a is b for a, b in zip(items, yours, strict=True)), (
        f"yours {yours}, expected the objects in {items}"
    )


@pytest.mark.parametrize("depth", [1, 3])
def test_the_thread_works_while_an_item_is_in_use(depth: int) -> None:
    """The next item is made before anybody asks for it."""
    source = Source(100)
    items = ahead(source, depth)
    first = next(items)
    is_ahead = source.reaches(1 + depth, LONG)
    items.close()

    assert 0 == first, f"yours {first}, expected 0"
    assert is_ahead, f"item 0 in use, depth {depth}: {source.made} items made, expected {1 + depth}"


@pytest.mark.parametrize("depth", [1, 3])
def test_the_thread_does_not_run_away(depth: int) -> None:
    """A slow trainer finds `depth` items waiting, however long it takes."""
    source = Source(100)
    items = ahead(source, depth)
    for used in range(1, 5):
        next(items)
        assert source.reaches(used + depth, LONG), (
            f"{used} used, depth {depth}: {source.made} items made, expected {used + depth}"
        )
        is_too_far = source.reaches(used + depth + 1, SHORT)
        assert not is_too_far, (
            f"{used} used, depth {depth}: {source.made} items made, expected {used + depth};"
            " take a free place before you ask the source"
        )
    items.close()


def test_one_other_thread_touches_the_source() -> None:
    """From the start only your thread touches the source, which may hold an open file."""
    source = Source(5)
    list(ahead(source, 2))

    assert threading.get_ident() not in source.threads, "the caller's thread asked the source"
    assert 1 == len(source.threads), f"{len(source.threads)} threads asked the source, expected 1"


def test_an_error_comes_in_its_turn() -> None:
    """The error comes after the items before it, and it is the same object, traceback included."""
    error = KeyError("broken record")

    def broken() -> Iterator[int]:
        yield 0
        yield 1
        raise error

    before = threads()
    items = ahead(broken(), 5)
    found: list[int] = []
    with pytest.raises(KeyError) as caught:
        found.extend(items)

    assert [0, 1] == found, f"items before the error: yours {found}, expected [0, 1]"
    assert error is caught.value, (
        f"your generator raised {caught.value!r}, expected the source's own error"
    )
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "broken" in names, (
        f"the traceback goes through {names}, expected it to reach `broken` in the source"
    )
    left = threads() - before
    assert not left, f"the error was raised, but your thread is still running: {lines_of(left)}"


def test_a_source_that_cannot_begin() -> None:
    """An error raised by ``iter(source)`` is raised here too."""

    class Missing:
        def __iter__(self) -> Iterator[int]:
            raise FileNotFoundError("no such shard")

    with pytest.raises(FileNotFoundError, match="no such shard"):
        next(ahead(Missing(), 1))


@pytest.mark.parametrize("used", [1, 3])
def test_a_trainer_may_stop_early(used: int) -> None:
    """The thread ends, wherever it waits, and asks the source for nothing more."""
    before = threads()
    source = Source(1000)
    items = ahead(source, 2)
    for _ in range(used):
        next(items)
    assert source.reaches(used + 2, LONG), f"{source.made} items made, expected {used + 2}"
    items.close()
    left, made = threads() - before, source.made

    assert not left, (
        f"closed, but your thread is still running: {lines_of(left)}. Closing runs your finally,"
        " which has to signal stop, wake up the waiting thread, and join it"
    )
    assert used + 2 == made, (
        f"after closing, your thread asked the source {made - used - 2} more times, expected 0"
    )


def test_an_item_in_the_making_is_waited_for() -> None:
    """A source may be slow: closed while it makes an item, the generator still ends the thread."""
    before, begun = threads(), threading.Event()

    def slow() -> Iterator[int]:
        yield 0
        begun.set()
        time.sleep(1.5)
        yield 1

    items = ahead(slow(), 1)
    first = next(items)
    has_begun = begun.wait(LONG)
    items.close()
    left = threads() - before

    assert (0, True) == (first, has_begun), (
        f"the first item: yours {first}, expected 0; item 1 begun: {has_begun}, expected True"
    )
    assert not left, (
        f"closed while item 1 was being made, but your thread is still running: {lines_of(left)}."
        " Join the thread, however long it takes"
    )


def test_an_error_of_the_trainer_ends_the_thread() -> None:
    """An error in the loop's body drops the last reference to the generator, which closes it."""
    before = threads()
    with suppress(ZeroDivisionError):
        for number in ahead(Source(1000), 1):
            _ = 1 // number
    left = threads() - before

    assert not left, f"an error ended the loop, but your thread still runs: {lines_of(left)}"


class Batch:
    """Something whose lifetime can be observed."""


def test_what_was_used_is_not_kept() -> None:
    """With depth 1, only the batch in use and a few waiting are alive; after closing, none."""
    alive: weakref.WeakSet[Batch] = weakref.WeakSet()
    most = 0

    def source() -> Iterator[Batch]:
        for _ in range(30):
            batch = Batch()
            alive.add(batch)
            yield batch
            del batch

    for batch in ahead(source(), 1):
        most = max(most, len(alive))
        del batch

    assert most <= 4, f"{most} of 30 batches were alive at once, expected at most 4"
    items = ahead(source(), 5)
    next(items)
    items.close()
    gc.collect()

    assert not alive, f"after closing, {len(alive)} batches are still alive"


def test_an_error_keeps_no_item() -> None:
    """An error holds its traceback, and so the frames it passed through and their variables."""
    alive: weakref.WeakSet[Batch] = weakref.WeakSet()

    def broken() -> Iterator[Batch]:
        for _ in range(3):
            batch = Batch()
            alive.add(batch)
            yield batch
            del batch
        raise KeyError("broken record")

    held = None
    try:
        for batch in ahead(broken(), 1):
            del batch
    except KeyError as error:
        held = error
    gc.collect()

    assert held is not None, "the source's KeyError was not raised"
    assert not alive, (
        f"the error keeps {len(alive)} of 3 batches alive: a variable in one of your frames still"
        " refers to one; del it, or put what next returns into the queue without naming it"
    )


def leave_open() -> None:
    """Take an item, and return while the generator is open."""
    OPEN.append(ahead(Source(1000), 1))
    next(OPEN[-1])


def test_an_open_generator_does_not_keep_a_process() -> None:
    """A script that takes one batch to look at has to exit, though the loop never ends."""
    assert [7] == list(ahead([7], 1)), "expected the one item, 7"
    child = mp.get_context("fork").Process(target=leave_open)
    child.start()
    child.join(LONG)
    is_there = child.is_alive()
    child.kill()
    child.join()

    assert not is_there, (
        f"a process left a generator open, and has not exited after {LONG} seconds: on exit Python"
        " waits for every thread that is not a daemon"
    )


def test_two_at_a_time() -> None:
    """Each generator has its own thread and places, even one nested in the other."""
    yours = list(zip(ahead(Source(6), 1), ahead(ahead(Source(6), 2), 2), strict=True))

    assert [(i, i) for i in range(6)] == yours, (
        f"two at once: yours {yours}, expected equal pairs, 0 to 5"
    )
