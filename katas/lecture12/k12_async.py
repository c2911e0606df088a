"""Save while training continues.

Ten gigabytes may take a minute to write, and training stops meanwhile. So let a thread write:

    pool.submit(torch.save, model.state_dict(), path)

Now the file has the first layer of step 100 and the last layer of step 103, because a state dict
holds the very tensors that training writes to. Copy first, which is quick, then write:

    trainer   step  copy  step step step step (wait)  copy  step step
    writer                write .................           write ....

Write `save` and `wait`, about 10 lines.

1. Copy into buffers that the first save allocates and later saves reuse.
2. A save waits for the previous one, whose buffers are still being read.
3. An error in the thread reaches the trainer at the next ``save`` or ``wait``.

Begin on paper: how long must the buffers stay unchanged?
Afterwards read ``async_save`` in ``torch/distributed/checkpoint/state_dict_saver.py``, in
site-packages: where does it copy, and does it wait for the previous save?
"""

from __future__ import annotations

from concurrent.futures import Future
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    State = dict[str, torch.Tensor]


class Saver:
    """Writes checkpoints with ``write(state, path)``, in a thread, one at a time."""

    def __init__(self, write: Callable[[State, Path], Any]) -> None:
        self.write = write
        self.pool = ThreadPoolExecutor(1)
        self.buffers: State = {}
        self.running: Future[Any] | None = None

    def save(self, state: State, path: Path) -> None:
        """Start writing the current values of `state`, and return before the write ends.

        Names and shapes are the same on every save. Every buffer is on the CPU, like everything
        here, requires no gradient, and is compact even if the tensor in `state` is a view of a
        larger one. Raise an error of the previous save before copying anything.
        """
        # TODO: wait, copy, submit.
        raise NotImplementedError("Saver.save")

    def wait(self) -> None:
        """Wait for the last write to end, if there is one; raise its error, but only once."""
        # TODO: what does a Future raise, and how often?
        raise NotImplementedError("Saver.wait")
