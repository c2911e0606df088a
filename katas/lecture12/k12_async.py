"""Save while training goes on.

Ten gigabytes may take a minute to write, in which no step is taken. So let a thread write:

    pool.submit(torch.save, model.state_dict(), path)

The file has the first layer of step 100 and the last one of step 103, because a state dict holds
the tensors that training writes to. Copy first, which is quick, then write:

    trainer   step  copy  step step step step (wait)  copy  step step
    writer                write .................           write ....

Write `save` and `wait`, about 10 lines.

1. Copy into buffers that are made at the first save and used at each one after it.
2. The next save waits for the last: its buffers are being read.
3. What goes wrong in the thread reaches the trainer, at the next ``save`` or ``wait``.

Begin on paper: for how long do the buffers have to stay as they are?
Afterwards read ``async_save`` in ``torch/distributed/checkpoint/state_dict_saver.py``, in
site-packages: where is its copy made, and does it wait for the last save?
"""

from __future__ import annotations

from concurrent.futures import Future
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from typing import Any

import torch  # noqa: TC002 - your answer may call it


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    State = dict[str, torch.Tensor]


class Saver:
    """Writes checkpoints by ``write(state, path)``, in a thread, one at a time."""

    def __init__(self, write: Callable[[State, Path], Any]) -> None:
        self.write = write
        self.pool = ThreadPoolExecutor(1)
        self.buffers: State = {}
        self.running: Future[Any] | None = None

    def save(self, state: State, path: Path) -> None:
        """Start a write of the values that `state` has now, and return before it ends.

        The names and shapes are the same at each save. A buffer is on the CPU, as all is here, and
        compact, though a tensor of `state` may be a view of more; it requires no gradient. An
        error of the save before is raised before anything is copied.
        """
        # TODO: wait, copy, submit.
        raise NotImplementedError("Saver.save")

    def wait(self) -> None:
        """Wait until the last write has ended, if there is one; raise its error, once only."""
        # TODO: what does a Future raise, and how often?
        raise NotImplementedError("Saver.wait")
