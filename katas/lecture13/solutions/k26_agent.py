"""An agent that restarts all workers when one dies."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from contextlib import suppress
from subprocess import TimeoutExpired
from typing import Protocol


class Worker(Protocol):
    """A process, such as a subprocess.Popen. Given."""

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """End it."""

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code as soon as there is one, or raise subprocess.TimeoutExpired."""


class WorkerError(Exception):
    """A worker has failed, and no restarts are left. Given."""

    def __init__(self, rank: int, code: int) -> None:
        super().__init__(f"rank {rank} has failed with code {code}")
        self.rank = rank
        self.code = code


def stop(workers: Sequence[Worker], grace: float) -> None:
    """Stop all workers that are still running, by force if they do not exit when asked. Given."""
    running = [worker for worker in workers if worker.poll() is None]
    try:
        # All are asked before any is waited for: some end only when others do.
        for worker in running:
            worker.terminate()
        for worker in running:
            with suppress(TimeoutExpired):
                worker.wait(grace)
    finally:
        for worker in running:
            if worker.poll() is None:
                worker.kill()
                worker.wait()


def supervise(
    start: Callable[[dict[str, str]], Worker],
    available: Callable[[], int],
    pause: Callable[[], None],
    max_restarts: int,
) -> int:
    """Run workers until all have ended with code 0; return how many restarts it took.

    - Before each start of the group, ``available()`` says how many workers there can be. If it is
      0, raise a RuntimeError that says "no workers".
    - ``start(environment)`` starts a worker: in the order of ranks, with ``RANK``, ``WORLD_SIZE``,
      ``TORCHELASTIC_RESTART_COUNT`` (0 at first) and ``TORCHELASTIC_MAX_RESTARTS``, all strings.
    - Look at all workers. If one has failed, stop the group, and start a new one. Call ``pause()``
      between two looks. Before you start, return or raise, call ``stop(workers, 5.0)``.
    - After `max_restarts` restarts, a failure raises `WorkerError`, for the lowest rank that
      failed.
    """
    restarts = 0
    while True:
        size = available()
        if size == 0:
            raise RuntimeError("no workers")
        workers: list[Worker] = []
        try:
            for rank in range(size):
                environment = {"RANK": str(rank), "WORLD_SIZE": str(size)}
                environment["TORCHELASTIC_RESTART_COUNT"] = str(restarts)
                environment["TORCHELASTIC_MAX_RESTARTS"] = str(max_restarts)
                workers.append(start(environment))
            codes = [worker.poll() for worker in workers]
            while None in codes and not any(codes):
                pause()
                codes = [worker.poll() for worker in workers]
        finally:
            stop(workers, 5.0)
        failed = [(rank, code) for rank, code in enumerate(codes) if code]
        if not failed:
            return restarts
        if restarts == max_restarts:
            raise WorkerError(*failed[0])
        restarts += 1
