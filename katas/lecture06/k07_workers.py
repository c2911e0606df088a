"""A loader with worker processes, down to the one that is killed.

Preprocessing is Python, which computes on one core per process. So a loader has workers:

    trainer --- pipe: [0, 1] [4, 5] --> worker 0 --- pipe: batch 0, batch 2 --> trainer
            --- pipe: [2, 3] [6, 7] --> worker 1 --- pipe: batch 1, batch 3 -->

Batch k is made by worker ``k % workers``, which works through its pipe in order. `start`, which
forks one, is given. About 30 lines; each of four steps turns a group of tests green:

1. `work`: what a worker does until it is told to stop.
2. `Loader.__iter__`: hand out tasks, some ahead, and take batches back in order.
3. Errors: a dataset that raises in a worker raises here.
4. Ends: a worker that dies, a trainer that leaves the loop. No process is left.

Begin on paper: two workers, `ahead` 2. Which tasks are out before batch 0 is awaited?
Afterwards read ``_BaseDataLoaderIter`` and the long comment on shutdown in
``torch/utils/data/dataloader.py``, in site-packages.
Real life differs: one queue for all results, batches put in order afterwards, tensors in shared
memory, threads that feed the queues and pin; and a worker notices now and then that its trainer is
gone, where yours waits on.
"""

from __future__ import annotations

import multiprocessing as mp
import traceback  # noqa: F401 - your answer calls it
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess


@dataclass(frozen=True)
class Failure:
    """What a worker sends in place of a batch: the text of a traceback."""

    text: str


@dataclass(frozen=True)
class Worker:
    """A process, the pipe into which its tasks go, and the one from which its batches come."""

    process: ForkProcess
    tasks: Connection
    batches: Connection


def start(dataset: Sequence[Any]) -> Worker:
    """Fork a worker. Given.

    The trainer closes the child's ends, so that ``recv`` raises EOFError when the child is dead.
    """
    context = mp.get_context("fork")
    tasks_out, tasks_in = context.Pipe(duplex=False)
    batches_out, batches_in = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(dataset, tasks_out, batches_in), daemon=True)
    process.start()
    tasks_out.close()
    batches_in.close()
    return Worker(process, tasks_in, batches_out)


def work(dataset: Sequence[Any], tasks: Connection, batches: Connection) -> None:
    """Make a batch of each task until the task is None.

    A task is a list of indices, and its batch the list of their samples. Where the dataset raises
    an Exception, a `Failure` with the formatted traceback is sent, and the worker goes on.
    """
    # TODO: step 1; the Failure is step 3.
    raise NotImplementedError("work")


class Loader:
    """Batches of a dataset, made by worker processes."""

    def __init__(
        self, dataset: Sequence[Any], tasks: list[list[int]], *, workers: int, ahead: int = 2
    ) -> None:
        self.dataset, self.tasks, self.workers, self.ahead = dataset, tasks, workers, ahead

    def __iter__(self) -> Iterator[list[Any]]:
        """Yield the batch of each task, in order.

        - While batch k is awaited or in use, the tasks up to k + ahead * workers - 1 are out: as
          many as keep each worker busy, and no more.
        - A Failure raises RuntimeError with its text, after the batches before it.
        - So does a worker that has died: "DataLoader worker (pid(s) 7) exited unexpectedly".
        - However this generator ends, its workers have ended, and are joined. One that still
          computes may be terminated.
        """
        # TODO: steps 2 to 4; a worker may be dead when you send, too.
        raise NotImplementedError("Loader.__iter__")
        yield
