"""Perf: a server that batches."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING
from typing import Any

import numpy as np


if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]


class Batcher:
    """Collects requests and calls `run` with many of them at a time.

    `run` takes an array of rows and returns an array with a row for each. `queue` holds the waiting
    requests: rows, future, time of arrival; the oldest first, at most `most` rows together.
    """

    def __init__(self, run: Callable[[Array], Array], most: int, wait: float) -> None:
        self.run, self.most, self.wait = run, most, wait
        self.queue: list[tuple[Array, Future[Array], float]] = []

    @property
    def deadline(self) -> float | None:
        """Return when `poll` is due if no request arrives before; None if nothing is waiting."""
        return self.queue[0][2] + self.wait if self.queue else None

    def submit(self, x: Array, now: float) -> Future[Array]:
        """Accept a request of 1 to `most` rows, and return a future for its answer.

        First run what is due at `now`. While x does not fit into the batch that is waiting,
        run that batch. If the batch is full with x, or due because `wait` is 0, run it too.
        """
        self.poll(now)
        while len(x) + sum(len(rows) for rows, _, _ in self.queue) > self.most:
            self._run()
        future: Future[Array] = Future()
        self.queue.append((x, future, now))
        if not self.wait or sum(len(rows) for rows, _, _ in self.queue) == self.most:
            self._run()
        return future

    def poll(self, now: float) -> None:
        """Run the waiting requests if the oldest is due: `now` has reached `deadline`."""
        if self.deadline is not None and now >= self.deadline:
            self._run()

    def _run(self) -> None:
        """Answer all waiting requests with one call of `run`; leave out those that were cancelled.

        What `run` raises becomes each request's exception. `run` may submit requests itself: they
        belong to a later batch. If all were cancelled, `run` is not called.
        """
        taken, self.queue = self.queue, []
        kept = [(x, future) for x, future, _ in taken if future.set_running_or_notify_cancel()]
        if not kept:
            return
        try:
            answers = self.run(np.concatenate([x for x, _ in kept]))
        except Exception as error:  # noqa: BLE001 - each caller gets it
            for _, future in kept:
                future.set_exception(error)
            return
        for x, future in kept:
            answer, answers = answers[: len(x)], answers[len(x) :]
            future.set_result(answer)
