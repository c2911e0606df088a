"""Perf: a server that batches.

A model takes 90 µs for one request, and 960 µs for 64 of them. So a server lets requests wait for
each other, a little:

    time    0      1      2      3      4      5      6
    rows    2             1      3                            most = 5, wait = 4
            |-- waits ----------->|
                                  2 + 1 + 3 > 5:  2 and 1 run, the 3 begin to wait

Write `submit`, `poll` and `_run`, about 22 lines. The clock is given as `now`: no thread, no sleep.
- A batch runs as soon as it is full, or when its oldest request has waited for `wait`.
- A request is never split, and requests stay in their order.
- A batch that fails fails only its own requests.

Begin on paper: a request comes every 3 units of time, with ``wait`` of 4. When does the first run?
Afterwards read ``Future.set_running_or_notify_cancel`` in ``concurrent/futures/_base.py``, and, for
batches in PyTorch, ``default_collate`` in ``torch/utils/data/_utils/collate.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    import numpy as np

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
        # TODO: run what is due, then what leaves no room for x, then what x completes.
        raise NotImplementedError("submit")

    def poll(self, now: float) -> None:
        """Run the waiting requests if the oldest is due: `now` has reached `deadline`."""
        # TODO: 0 is a deadline as well.
        raise NotImplementedError("poll")

    def _run(self) -> None:
        """Answer all waiting requests with one call of `run`; leave out those that were cancelled.

        What `run` raises becomes each request's exception. `run` may submit requests itself: they
        belong to a later batch. If all were cancelled, `run` is not called.
        """
        # TODO: empty the queue first. Future has set_running_or_notify_cancel.
        raise NotImplementedError("_run")
