"""Save while training continues."""

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
        """Start writing the current values of `state`, and return before the write ends."""
        self.wait()
        for name, x in state.items():
            if name not in self.buffers:
                self.buffers[name] = torch.empty_like(x)
            self.buffers[name].copy_(x.detach())
        self.running = self.pool.submit(self.write, self.buffers, path)

    def wait(self) -> None:
        """Wait for the last write to end, if there is one; raise its error, but only once."""
        running, self.running = self.running, None
        if running is not None:
            running.result()
