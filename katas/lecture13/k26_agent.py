"""An agent that restarts all workers when one dies.

One machine of a thousand fails every few hours, and no rank can repair that: the process group is
lost. ``torchrun --max-restarts=3`` has an agent next to the workers, which never joins the group:

    start all -> look -> pause -> look ...   all have ended well?  done
        ^                  |
        +---- stop all <---+  one has failed

Write `supervise`, about 22 lines. `stop` is given: it asks, waits, and kills.

- Restart the workers that have ended well, too: all ranks have to meet again.
- Leave no worker behind, whatever is raised: by `pause`, by `start`, or by Ctrl-C.

Begin by naming the three ways out of the loop.
Afterwards read ``_invoke_run`` in ``torch/distributed/elastic/agent/server/api.py``, in
site-packages.
Real life differs: the agents of several machines meet at a rendezvous, which also counts who is
there.
"""

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
      between two looks. Before you start again, return or raise, call ``stop(workers, 5.0)``.
    - After `max_restarts` restarts, a failure raises `WorkerError`, for the lowest rank that
      failed.
    """
    # TODO: start, watch, stop; again.
    raise NotImplementedError("supervise")
