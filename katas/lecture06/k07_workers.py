"""A loader with worker processes that notices when one is killed.

Preprocessing is Python, which computes on one core per process. So a loader has workers:

    trainer --- pipe: [0, 1] [4, 5] --> worker 0 --- pipe: batch 0, batch 2 --> trainer
            --- pipe: [2, 3] [6, 7] --> worker 1 --- pipe: batch 1, batch 3 -->

Worker ``k % workers`` makes batch k, and works through its pipe in order. `start`, which forks a
worker, is given. About 30 lines; each of four steps turns a group of tests green:

1. `work`: what a worker does until it is told to stop.
2. `Loader.__iter__`: hand out tasks, some ahead, and take batches back in order.
3. Errors: when the dataset raises in a worker, raise here.
4. Ends: a worker dies, or the trainer leaves the loop. Leave no process behind.

Begin on paper: two workers, `ahead` 2. Which tasks have you sent before you wait for batch 0?
Afterwards read ``_BaseDataLoaderIter`` and the long comment on shutdown in
``torch/utils/data/dataloader.py``, in site-packages.
Real life differs: all results share one queue and are put in order afterwards, tensors travel in
shared memory, and threads feed the queues and pin memory. And a real worker checks now and then
whether its trainer is gone, while yours keeps waiting.
"""

from __future__ import annotations

import multiprocessing as mp
import traceback
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
    """A process, the pipe that takes its tasks, and the pipe that returns its batches."""

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
    """Turn each task into a batch, until a task is None.

    A task is a list of indices; its batch is the list of their samples. If the dataset raises an
    Exception, send a `Failure` with the formatted traceback, and continue with the next task.
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

        - While batch k is awaited or in use, tasks up to k + ahead * workers - 1 have been sent:
          enough to keep each worker busy, but no more.
        - For a Failure, raise RuntimeError with its text, after the batches before it.
        - Do the same for a dead worker, with "DataLoader worker (pid(s) 7) exited unexpectedly".
        - However this generator ends, end and join its workers. You may terminate one that is
          still computing.
        """
        # TODO: steps 2 to 4; a worker may already be dead when you send to it.
        raise NotImplementedError("Loader.__iter__")
        yield
