"""Tests of k09_deadlock: real threads in real deadlocks, which the tests then release."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture27 import k09_deadlock as kata
from katas.lecture27.k09_deadlock import Lock
from katas.lecture27.k09_deadlock import cycle
from katas.lecture27.k09_deadlock import waiting
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator

    Job = Callable[[], None]


# Seconds until a test gives up on its own threads.
PATIENCE = 10


@contextmanager
def stuck(jobs: list[Job], locks: list[Lock], count: int) -> Iterator[list[int]]:
    """Run jobs in threads until `count` of them wait for a lock; yield their ids, then free them.

    Any thread may release a threading lock, so the deadlock ends with the test.
    """
    threads = [threading.Thread(target=job, daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    try:
        until = time.monotonic() + PATIENCE
        while sum(map(stands, threads)) < count:
            assert time.monotonic() < until, (
                "the threads of this test did not reach their locks in time"
            )
            time.sleep(0.002)
        yield [thread.ident or 0 for thread in threads]
    finally:
        while any(thread.is_alive() for thread in threads):
            for lock in locks:
                if lock.inner.locked():
                    lock.inner.release()
            time.sleep(0.002)


def stands(thread: threading.Thread) -> bool:
    """Return whether a thread waits for a lock that another thread holds."""
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - what the kata is about
    if frame is None or frame.f_code is not Lock.acquire.__code__:
        return False
    return frame.f_locals["self"].owner is not None


def names_in(thread: threading.Thread) -> list[str]:
    """Return the names of the functions in the stack of a thread."""
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - what the kata is about
    return [each.f_code.co_name for each, _ in traceback.walk_stack(frame)] if frame else []


def quietly(job: Job) -> Job:
    """Return a job that tolerates a lock that the test has already released."""

    def run() -> None:
        try:
            job()
        except RuntimeError:
            return

    return run


def both(first: Lock, second: Lock, meet: threading.Barrier) -> Job:
    """Return a job that takes two locks, the second once all threads have their first."""

    def run() -> None:
        with first:
            meet.wait(PATIENCE)
            with second:
                pass

    return quietly(run)


def named(found: dict[int, Lock], numbers: list[int]) -> dict[int, str]:
    """Return which lock each thread waits for, by the thread's position in the test."""
    return {numbers.index(thread): lock.name for thread, lock in found.items() if thread in numbers}


def test_two_threads_that_wait() -> None:
    """Each thread has one lock and waits for the other's, as in the picture."""
    table, stats, meet = Lock("table"), Lock("stats"), threading.Barrier(2)
    jobs = [both(table, stats, meet), both(stats, table, meet)]
    with stuck(jobs, [table, stats], 2) as numbers:
        frames = sys._current_frames()  # noqa: SLF001 - what the kata is about
        yours = waiting(frames)
        second = waiting({numbers[1]: frames[numbers[1]]})
    expected = {0: "stats", 1: "table"}
    assert named(yours, numbers) == expected, (
        f"by thread, yours {named(yours, numbers)}, expected {expected}: which lock is `self` in"
        " the frame of Lock.acquire?"
    )
    assert set(yours) == set(numbers), (
        f"your code also lists {len(set(yours) - set(numbers))} threads that do not wait for a Lock"
    )
    assert named(second, numbers) == {1: "table"}, (
        f"given only the frame of thread 1, yours {named(second, numbers)}, expected its lock"
    )


def test_a_thread_that_does_not_wait() -> None:
    """A thread does not wait if its stack lacks Lock.acquire's code, whatever names it has."""
    go, inside = threading.Event(), threading.Semaphore(0)
    lock, taken = Lock("table"), threading.Event()

    def holds() -> None:
        with lock:
            taken.set()
            go.wait(PATIENCE)

    names: dict[str, Any] = {}
    exec("class Lock:\n    def acquire(self, wait):\n        wait()\n", names)  # noqa: S102 - ours
    other = threading.Thread(target=names["Lock"]().acquire, args=(lambda: go.wait(PATIENCE),))
    threads = [threading.Thread(target=holds), threading.Thread(target=inside.acquire), other]
    for thread in threads:
        thread.start()
    taken.wait(PATIENCE)
    until = time.monotonic() + PATIENCE
    while not all("acquire" in names_in(thread) for thread in threads[1:]):
        assert time.monotonic() < until, "the threads of this test did not reach `acquire` in time"
        time.sleep(0.002)
    try:
        yours = waiting(sys._current_frames())  # noqa: SLF001 - what the kata is about
    finally:
        go.set()
        inside.release()
        for thread in threads:
            thread.join()
    assert not yours, (
        f"your code says that {len(yours)} threads wait, expected 0: one has its lock, two are in"
        " other classes' methods called acquire, which have different code"
    )


class Traced(threading.Thread):
    """A thread that its trace function stops deeper than `acquire`."""

    def __init__(self, lock: Lock, then: Job = lambda: None) -> None:
        super().__init__(daemon=True)
        self.lock, self.then = lock, then
        self.go, self.seen = threading.Event(), threading.Event()

    def run(self) -> None:
        """Enter `acquire`, and wait in the trace function that Python calls there."""

        def pause(frame: object, event: str, _: object) -> None:
            if getattr(frame, "f_code", None) is Lock.acquire.__code__ and event == "call":
                self.seen.set()
                self.then()
                self.go.wait(PATIENCE)

        sys.settrace(pause)
        self.lock.acquire()
        sys.settrace(None)


def test_frames_further_in() -> None:
    """`acquire` is not the innermost frame: a debugger has stopped the thread inside it."""
    thread = Traced(Lock("table"))
    thread.start()
    thread.seen.wait(PATIENCE)
    try:
        yours = waiting(sys._current_frames())  # noqa: SLF001 - what the kata is about
    finally:
        thread.go.set()
        thread.join()
    assert yours == {thread.ident: thread.lock}, (
        f"yours {yours}, expected the lock of thread {thread.ident}: walk outwards with f_back"
    )


def test_two_locks_in_one_stack() -> None:
    """While acquiring one lock, the thread waits for another: return the inner one."""
    table, log = Lock("table"), Lock("log")
    log.acquire()
    thread = Traced(table, quietly(log.acquire))
    thread.start()
    until = time.monotonic() + PATIENCE
    try:
        while not stands(thread):
            assert time.monotonic() < until, (
                "the thread of this test did not reach its lock in time"
            )
            time.sleep(0.002)
        yours = waiting(sys._current_frames())  # noqa: SLF001 - what the kata is about
    finally:
        log.release()
        thread.go.set()
        thread.join()
    found = named(yours, [thread.ident or 0])
    assert found == {0: "log"}, f"yours {found}, expected the lock of the inner `acquire`: log"


def locks_of(owners: dict[int, int | None]) -> dict[int, Lock]:
    """Return waits made by hand: each thread waits for a lock that `owner` holds."""
    found = {}
    for thread, owner in owners.items():
        found[thread] = Lock(f"lock of {owner}")
        found[thread].owner = owner
    return found


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        ({}, []),
        ({1: 2}, []),
        ({1: None}, []),
        ({7: 7}, [7]),
        ({1: 3, 3: 2, 2: 1}, [1, 3, 2]),
        ({1: 2, 2: 3, 3: 2}, [2, 3]),
        ({4: 5, 5: 4, 1: 2, 2: 1}, [1, 2]),
        ({0: 1, 1: 0}, [0, 1]),
        ({1: 0, 0: None}, []),
    ],
    ids=["empty", "runs", "free", "itself", "order", "tail", "two", "zero", "zero-runs"],
)
def test_ring(owners: dict[int, int | None], expected: list[int]) -> None:
    """Return the ring with the smallest thread, in the order in which its threads wait."""
    with forbids(kata, "networkx") as fresh:
        yours = fresh.cycle(locks_of(owners))
    assert yours == expected, (
        f"thread: owner of its lock {owners}\nyours {yours}, expected {expected}"
    )


def test_a_lock_in_a_hook() -> None:
    """One thread takes its second lock in a backward hook, with C++ between its frames."""
    table, stats, meet = Lock("table"), Lock("stats"), threading.Barrier(2)

    def backward() -> None:
        x = torch.ones(2, requires_grad=True)

        def hook(_: torch.Tensor) -> None:
            with stats:
                pass

        x.register_hook(hook)
        with table:
            meet.wait(PATIENCE)
            (x * 2).sum().backward()

    jobs = [quietly(backward), both(stats, table, meet)]
    with stuck(jobs, [table, stats], 2) as numbers:
        found = waiting(sys._current_frames())  # noqa: SLF001 - what the kata is about
        yours = cycle(found)
    assert named(found, numbers) == {0: "stats", 1: "table"}, (
        f"yours {named(found, numbers)}, expected {{0: 'stats', 1: 'table'}}"
    )
    assert yours == sorted(numbers), f"yours {yours}, expected the ring {sorted(numbers)}"


def test_a_victim() -> None:
    """A third thread waits for one of the two, but is not in the ring."""
    table, stats, meet = Lock("table"), Lock("stats"), threading.Barrier(3)

    def behind() -> None:
        meet.wait(PATIENCE)
        with table:
            pass

    jobs = [both(table, stats, meet), both(stats, table, meet), quietly(behind)]
    with stuck(jobs, [table, stats], 3) as numbers:
        found = waiting(sys._current_frames())  # noqa: SLF001 - what the kata is about
        yours = cycle(found)
    assert len(found) == 3, f"three threads wait, but you return {named(found, numbers)}"
    assert yours == sorted(numbers[:2]), (
        f"yours {[numbers.index(number) for number in yours]}, expected threads 0 and 1: thread 2"
        " holds no lock that another thread waits for"
    )


@given(st.dictionaries(st.integers(0, 7), st.none() | st.integers(0, 7), max_size=8))
@example({0: 1, 1: 2, 2: 3, 3: 1})
@example({number: (number + 3) % 8 for number in range(8)})
def test_rings_of_networkx(owners: dict[int, int | None]) -> None:
    """Any waits give the same ring as networkx."""
    import networkx as nx  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415 - takes a third of a second

    waits = locks_of(owners)
    yours = cycle(waits)
    assert {thread: lock.owner for thread, lock in waits.items()} == owners, (
        "your code changes the waits"
    )
    graph = nx.DiGraph([(a, b) for a, b in owners.items() if b is not None])
    rings = [
        ring[ring.index(min(ring)) :] + ring[: ring.index(min(ring))]
        for ring in nx.simple_cycles(graph)
    ]
    expected: list[int] = min(rings, default=[])
    assert yours == expected, (
        f"thread: owner of its lock {owners}\nyours {yours}, networkx's {expected}"
    )
