"""Elastic training: a rank dies, all stop, all start again, and the loss is the same.

On a thousand machines one fails every few hours. The collectives then fail or hang in all other
ranks, and none of them can repair that: the process group is lost. So a process beside them, the
*agent*, watches its workers. If one dies it ends all of them and starts all again, perhaps fewer;
they go on from the last *checkpoint*. This is ``torchrun --max-restarts=3 --nnodes=1:4``.

**1. The checkpoint.** ``save(path, state)`` writes `state` to the file `path`: tensors, numbers,
text, and lists and dictionaries of these, which ``torch.load`` takes by default. A process that is
ended at any moment must leave a whole checkpoint there, the old one or the new one. So write
another file in the same folder; make sure that all of it is on the disk (``os.fsync``; Python's own
buffer must be empty by then, which ``torch.save`` sees to); only then ``os.replace`` (or
``Path.replace``, which calls it) puts it in the place of the old one, which is atomic. What a save
that was ended has left behind must not disturb the next one. ``load(path)`` returns the state, or
None if there is no such file. A file that is there and cannot be read is an error, which goes on:
to begin anew would replace it.

**2. The training.** ``train(path, data, batch, steps, after)`` runs in each rank of a process
group, and returns the losses of steps 0 to `steps` - 1, a list of floats, on every rank: also of
the steps that were done before a restart, with another number of ranks perhaps.

- It begins with ``torch.manual_seed(0)`` and the model and optimizer of ``make()`` (given).
- `data` are two tensors of n rows, x and y, on each rank the same; n is a multiple of `batch`. At
  the beginning of each epoch, ``torch.randperm(n)`` draws an order from the default generator, the
  same on all ranks, and for nothing else is that generator used. Step k of an epoch takes the k-th
  `batch` of that order. The size of this *global batch* does not depend on the number of ranks: of
  its rows rank r of s takes the r-th, the (r+s)-th, ... There may be more ranks than rows.
- The loss of a step is the sum of ``(model(x) - y) ** 2`` over the global batch and all columns,
  divided by `batch`, before the optimizer steps. Its gradients are the sums of what the ranks have.
- After each step rank 0, and no other rank, saves a checkpoint to `path`. Then each rank calls
  ``after(step)`` with the number of steps that are done, 1 after the first. It may end the process.
- If there is a checkpoint, go on from it as if nothing had been: what does the next step depend on?
  Model and optimizer (momentum!), the losses, but also where in which order the epoch is, and what
  the generator will draw for the next one. A checkpoint may hold all `steps`.

**3. The agent.** ``supervise(start, available, *, fewest, max_restarts, pause, grace)`` returns
how many restarts it took until all workers have ended well.

- ``available()`` says how many workers there can be now; it is asked before each start of the
  group. If there are less than `fewest`, raise ``RuntimeError("too few workers")``.
- ``start(environment)`` starts a worker and returns it. `environment` is a dictionary of strings:
  ``RANK``, ``WORLD_SIZE``, ``TORCHELASTIC_RESTART_COUNT`` (0 at first) and
  ``TORCHELASTIC_MAX_RESTARTS``. Ranks are started in their order.
- A worker is like a ``subprocess.Popen``: ``poll()`` returns None as long as it runs, then its exit
  code; 0 is good. ``terminate()`` asks it to end and ``kill()`` ends it. ``wait(seconds)`` waits
  for its end, and raises ``subprocess.TimeoutExpired`` if it does not come; ``wait()`` waits for
  ever.
- Look at all workers. If one has failed, stop the group, and start a new one of as many workers as
  are available now: also those that have ended well, since all ranks have to meet again. If all
  have ended well, return. Else call ``pause()`` and look again.
- To stop the group, terminate all that still run, then wait for each of them up to `grace` seconds,
  kill those that are still there, and wait for these. Before that nothing is started.
- After `max_restarts` restarts, a further failure stops the group and raises
  ``WorkerError(rank, code)`` (given) of the failed worker, that of the lowest rank if there are
  several.
- Whatever else is raised, by ``pause()``, ``start()`` or Ctrl-C, while the group is being stopped
  too: no worker is left behind.

About 75 lines in all. Do not call ``torch.distributed.elastic`` or
``torch.distributed.checkpoint``. Out of scope: several machines, whose agents meet at a rendezvous,
and checkpoints in shards.

In PyTorch: ``torch/distributed/elastic/agent/server/api.py`` (``SimpleElasticAgent._invoke_run``),
``torch/distributed/elastic/agent/server/local_elastic_agent.py`` (``LocalElasticAgent``),
``torch/distributed/run.py`` and ``torch/distributed/checkpoint/state_dict_saver.py`` (``save``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any
from typing import Protocol

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Worker(Protocol):
    """A process, as subprocess.Popen is one. Given."""

    def poll(self) -> int | None:
        """Return the exit code, or None as long as it runs."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """End it."""

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code as soon as there is one, or raise subprocess.TimeoutExpired."""


class WorkerError(Exception):
    """A worker has failed for the last time. Given."""

    def __init__(self, rank: int, code: int) -> None:
        super().__init__(f"rank {rank} has failed with code {code}")
        self.rank = rank
        self.code = code


def make() -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a model from 3 columns to 2, and its optimizer. Given."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def save(path: Path, state: Any) -> None:
    """Write a checkpoint that is there as a whole or not at all."""
    # TODO: where to write, and when is it safe to replace?
    raise NotImplementedError("save")


def load(path: Path) -> Any:
    """Return the last checkpoint, or None."""
    # TODO: two lines.
    raise NotImplementedError("load")


def train(
    path: Path,
    data: tuple[torch.Tensor, torch.Tensor],
    batch: int,
    steps: int,
    after: Callable[[int], None],
) -> list[float]:
    """Train from the last checkpoint, or from the beginning; return the losses of all steps."""
    # TODO: make, restore, then step by step: the order, this rank's rows, sums, save.
    raise NotImplementedError("train")


def supervise(
    start: Callable[[dict[str, str]], Worker],
    available: Callable[[], int],
    *,
    fewest: int,
    max_restarts: int,
    pause: Callable[[], None],
    grace: float,
) -> int:
    """Run workers until all have ended well, start all again if one fails; count the restarts."""
    # TODO: start, watch, stop; again.
    raise NotImplementedError("supervise")
