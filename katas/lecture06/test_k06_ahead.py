"""Tests of k06_ahead: events instead of clocks say what is made while an item is in use."""

from __future__ import annotations

import gc
import signal
import threading
import time
import traceback
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from katas.lecture06.k06_ahead import ahead


if TYPE_CHECKING:
    from collections.abc import Iterator


# Seconds: how long to wait for what comes, and for what is not to come; for a whole test.
LONG, SHORT, LIMIT = 10, 0.3, 15


@pytest.fixture(autouse=True)
def deadline() -> Iterator[None]:
    """Fail a test that waits for what never comes, long before its time limit."""

    def late(*_: object) -> None:
        raise AssertionError(f"nothing has come for {LIMIT} seconds: who waits for whom?")

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
    assert not left, f"the source has ended, and {left} has not"


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
    assert not threads() - before, "the thread is still there after the error"


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

    assert not left, f"closed, and {left} is still there: it waits for a place, so give it one"
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
    assert not left, f"closed while item 1 was being made, and {left} is still there: join it"


def test_an_error_of_the_trainer_ends_the_thread() -> None:
    """The loop around the generator is left, and the generator goes with its last reference."""
    before = threads()
    with suppress(ZeroDivisionError):
        for number in ahead(Source(1000), 1):
            _ = 1 // number
    left = threads() - before

    assert not left, f"the loop is left, and {left} is still there"


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


def test_two_at_a_time() -> None:
    """Each has a thread and places of its own; also one around the other."""
    yours = list(zip(ahead(Source(6), 1), ahead(ahead(Source(6), 2), 2), strict=True))

    assert [(i, i) for i in range(6)] == yours, f"two together: yours {yours}"
