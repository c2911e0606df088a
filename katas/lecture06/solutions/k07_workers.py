"""A loader with worker processes that notices when one is killed."""

from __future__ import annotations

import multiprocessing as mp
import traceback
from contextlib import suppress
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
    """Turn each task into a batch, until a task is None."""
    while (task := tasks.recv()) is not None:
        try:
            batch: list[Any] | Failure = [dataset[index] for index in task]
        except Exception:  # noqa: BLE001 - whatever it is, it is the trainer's business
            batch = Failure(traceback.format_exc())
        batches.send(batch)


class Loader:
    """Batches of a dataset, made by worker processes."""

    def __init__(
        self, dataset: Sequence[Any], tasks: list[list[int]], *, workers: int, ahead: int = 2
    ) -> None:
        self.dataset, self.tasks, self.workers, self.ahead = dataset, tasks, workers, ahead

    def __iter__(self) -> Iterator[list[Any]]:
        """Yield the batch of each task, in order."""
        workers = [start(self.dataset) for _ in range(self.workers)]
        sent = 0
        try:
            for number in range(len(self.tasks)):
                while sent < min(len(self.tasks), number + self.ahead * self.workers):
                    # To a dead worker too: its own turn will show that it is dead.
                    with suppress(BrokenPipeError):
                        workers[sent % self.workers].tasks.send(self.tasks[sent])
                    sent += 1
                worker = workers[number % self.workers]
                try:
                    batch = worker.batches.recv()
                except (EOFError, OSError):
                    died = f"DataLoader worker (pid(s) {worker.process.pid}) exited unexpectedly"
                    raise RuntimeError(died) from None
                if isinstance(batch, Failure):
                    raise RuntimeError(batch.text)  # noqa: TRY004 - of the data, not of a type
                yield batch
        finally:
            for worker in workers:
                worker.process.terminate()
                worker.process.join()
