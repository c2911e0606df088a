"""Tests of k06_ahead: events instead of clocks say what is made while an item is in use."""

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


# Seconds: how long to wait for what comes, and for what is not to come; for a whole test.
LONG, SHORT, LIMIT = 5, 0.3, 6
# Generators that are left open.
OPEN: list[Iterator[int]] = []


def line_of(frame: FrameType | None) -> str:
    """Return the line of your file in which a frame is, or one that has called it."""
    file = ahead.__code__.co_filename
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    if frame is None:
        return "outside of your file"
    return f"in line {frame.f_lineno}, {linecache.getline(file, frame.f_lineno).strip()}"


def lines_of(those: Iterable[threading.Thread]) -> str:
    """Return where threads are."""
    frames = sys._current_frames()  # noqa: SLF001 - as faulthandler, but for a message
    return "; ".join(f"{each.name} is {line_of(frames.get(each.ident or 0))}" for each in those)


@pytest.fixture(autouse=True)
def deadline() -> Iterator[None]:
    """Fail a test that waits for what never comes, long before its time limit."""
    others = threads()

    def late(_signal: int, frame: FrameType | None) -> None:
        where = lines_of(threads() - others)
        raise AssertionError(
            f"nothing has come for {LIMIT} seconds: the caller is {line_of(frame)};"
            f" {where or 'your thread has ended: by an error that it has not passed on?'}"
        )

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


class Source:
    """Yields numbers, and says how many have been asked for, and by which threads."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.made = 0
        self.threads: set[int] = set()
        self.changed = threading.Condition()

    def __iter__(self) -> Iterator[int]:
        # No generator: to ask for the iterator is to touch the source.
        self.threads.add(threading.get_ident())
        return self.numbers()

    def numbers(self) -> Iterator[int]:
        """Yield the numbers, and note it."""
        for number in range(self.count):
            with self.changed:
                self.made += 1
                self.changed.notify_all()
            yield number
            self.threads.add(threading.get_ident())

    def reaches(self, made: int, seconds: float) -> bool:
        """Wait until so many have been asked for."""
        with self.changed:
            return self.changed.wait_for(lambda: self.made >= made, seconds)


def threads() -> set[threading.Thread]:
    """Return the threads that run."""
    return set(threading.enumerate())


@pytest.mark.parametrize("depth", [1, 2, 50])
@pytest.mark.parametrize("count", [0, 1, 10])
def test_all_items_in_order(count: int, depth: int) -> None:
    """With room for all of them, or for one."""
    before = threads()
    source = Source(count)
    yours = list(ahead(source, depth))

    assert list(range(count)) == yours, f"{count} items, depth {depth}: yours {yours}"
    left = threads() - before
    assert not left, f"the source has ended, and your thread has not: {lines_of(left)}"


def test_items_may_be_anything() -> None:
    """None, an exception that is not raised, and False are items like others."""
    items = [None, False, ValueError("an item"), StopIteration(), ()]
    yours = list(ahead(iter(items), 2))

    assert len(items) == len(yours), f"yours {yours}, expected {items}: what marks the end?"
    assert all(a is b for a, b in zip(items, yours, strict=True)), f"yours {yours}, not {items}"


@pytest.mark.parametrize("depth", [1, 3])
def test_the_thread_works_while_an_item_is_in_use(depth: int) -> None:
    """Nobody asks for the next item, and it is made."""
    source = Source(100)
    items = ahead(source, depth)
    first = next(items)
    is_ahead = source.reaches(1 + depth, LONG)
    items.close()

    assert 0 == first, f"yours {first}, expected 0"
    assert is_ahead, f"item 0 in use, depth {depth}: {source.made} are made, expected {1 + depth}"


@pytest.mark.parametrize("depth", [1, 3])
def test_the_thread_does_not_run_away(depth: int) -> None:
    """A slow trainer finds `depth` items more, however long it takes."""
    source = Source(100)
    items = ahead(source, depth)
    for used in range(1, 5):
        next(items)
        assert source.reaches(used + depth, LONG), (
            f"{used} used, depth {depth}: {source.made} are made, expected {used + depth}"
        )
        is_too_far = source.reaches(used + depth + 1, SHORT)
        assert not is_too_far, (
            f"{used} used, depth {depth}: {source.made} are made, expected {used + depth};"
            " a place has to be free before the source is asked"
        )
    items.close()


def test_one_other_thread_touches_the_source() -> None:
    """From its beginning on: a source may have a file open, or a connection."""
    source = Source(5)
    list(ahead(source, 2))

    assert threading.get_ident() not in source.threads, "the caller's thread asked the source"
    assert 1 == len(source.threads), f"{len(source.threads)} threads asked, expected 1"


def test_an_error_comes_in_its_turn() -> None:
    """After the items before it, and it is the error itself, with the line that raised it."""
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

    assert [0, 1] == found, f"before the error yours gave {found}, expected [0, 1]"
    assert error is caught.value, "yours raised another error than the source's"
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "broken" in names, f"the traceback goes through {names}, and not to the source's line"
    left = threads() - before
    assert not left, f"the error is out, and your thread is still there: {lines_of(left)}"


def test_a_source_that_cannot_begin() -> None:
    """Also an error of ``iter(source)`` belongs here."""

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
    assert source.reaches(used + 2, LONG), f"{source.made} are made, expected {used + 2}"
    items.close()
    left, made = threads() - before, source.made

    assert not left, (
        f"closed, and your thread is still there: {lines_of(left)}. Closing runs your finally,"
        " which has to say stop, to wake up what waits, and to join"
    )
    assert used + 2 == made, f"closed, and the source was asked {made - used - 2} times more"


def test_an_item_in_the_making_is_waited_for() -> None:
    """A source is slow at times: closed in the midst of an item, the thread has to end too."""
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

    assert (0, True) == (first, has_begun), f"yours gave {first}; is item 1 begun: {has_begun}"
    assert not left, (
        f"closed while item 1 was being made, and your thread is still there: {lines_of(left)}."
        " Join it, however long it takes"
    )


def test_an_error_of_the_trainer_ends_the_thread() -> None:
    """The loop around the generator is left, and the generator goes with its last reference."""
    before = threads()
    with suppress(ZeroDivisionError):
        for number in ahead(Source(1000), 1):
            _ = 1 // number
    left = threads() - before

    assert not left, f"the loop is left, and your thread is still there: {lines_of(left)}"


class Batch:
    """Something whose life can be watched."""


def test_what_was_used_is_not_kept() -> None:
    """With depth 1 a few are alive: the one in use, those on their way; closed, none."""
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

    assert most <= 4, f"{most} of 30 batches were alive together, expected at most 4"
    items = ahead(source(), 5)
    next(items)
    items.close()
    gc.collect()

    assert not alive, f"closed, and {len(alive)} batches that had been made are kept"


def test_an_error_keeps_no_item() -> None:
    """Who holds an error holds its traceback, with the frames that it went through."""
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

    assert held is not None, "the source's KeyError has not come"
    assert not alive, (
        f"the error is held, and with it {len(alive)} of 3 batches: a name in a frame of yours"
        " still has one; del it, or put what next returns into the queue without a name"
    )


def leave_open() -> None:
    """Take an item, and end while the generator is open."""
    OPEN.append(ahead(Source(1000), 1))
    next(OPEN[-1])


def test_an_open_generator_does_not_keep_a_process() -> None:
    """A script that takes one batch to look at it has to end, though the loop never does."""
    assert [7] == list(ahead([7], 1)), "one item, 7, is what comes"
    child = mp.get_context("fork").Process(target=leave_open)
    child.start()
    child.join(LONG)
    is_there = child.is_alive()
    child.kill()
    child.join()

    assert not is_there, (
        f"a process left a generator open, and has not ended after {LONG} seconds: at its end"
        " Python waits for each thread that is no daemon"
    )


def test_two_at_a_time() -> None:
    """Each has a thread and places of its own; also one around the other."""
    yours = list(zip(ahead(Source(6), 1), ahead(ahead(Source(6), 2), 2), strict=True))

    assert [(i, i) for i in range(6)] == yours, f"two together: yours {yours}"
