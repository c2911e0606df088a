"""A parameter server: calls to other processes, and answers that come later.

Collectives are symmetric. A remote procedure call is not: a trainer asks another process to run
a method, and waits for the answer.

    trainer 1  -- push_together(g1) -->  server          (no answer yet)
    trainer 2  -- push_together(g2) -->  server: step
    both       <-- version, weights ---

The server runs requests in a pool of threads. If a thread waited for the last trainer, a pool of
one would never see it. So `push_together` returns a Future at once, and
``@rpc.functions.async_execution`` sends the answer when somebody sets the result.

1. `pull` and `push`: one lock, for all that belongs together.
2. `push_together`: collect gradients and futures; the last caller makes the step and answers
   all of them.

About 20 lines. The tests start the processes.

Begin with a question: two threads run ``weights -= lr * g`` at once. What may be lost?
Afterwards read ``async_execution`` in ``torch/distributed/rpc/functions.py``, in site-packages.
Real life differs: ``torch.distributed.rpc`` is in maintenance mode; the ideas live on in
actor systems.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock

import torch
from torch.distributed import rpc


class ParameterServer:
    """Weights in one process, and what trainers in others ask of them; many threads at once."""

    def __init__(self, weights: torch.Tensor, lr: float, trainers: int) -> None:
        self.weights = weights.clone()
        self.lr = lr
        self.trainers = trainers
        # How many steps have been made.
        self.version = 0
        # Its holder may take it again.
        self.lock = RLock()
        # Of the round that is under way: the gradients, and who waits for an answer.
        self.gradients: list[torch.Tensor] = []
        self.waiting: list[torch.futures.Future[tuple[int, torch.Tensor]]] = []

    def apply(self, gradient: torch.Tensor) -> None:
        """Make one step. Given; not for two threads at once."""
        self.weights -= self.lr * gradient
        self.version += 1

    def check(self, gradient: torch.Tensor) -> None:
        """Refuse a gradient of another shape. Given."""
        if gradient.shape != self.weights.shape:
            raise ValueError(f"the shape is {gradient.shape}, and not {self.weights.shape}")

    def pull(self) -> tuple[int, torch.Tensor]:
        """Return the version and a copy of the weights that belong together."""
        # TODO: another thread may be in the middle of a step.
        raise NotImplementedError("pull")

    def push(self, gradient: torch.Tensor) -> int:
        """Check a gradient, apply it at once, and return the version that this step has made."""
        # TODO: three lines.
        raise NotImplementedError("push")

    # TODO: decorate it.
    def push_together(
        self, gradient: torch.Tensor
    ) -> torch.futures.Future[tuple[int, torch.Tensor]]:
        """Check a gradient; apply the mean when those of all trainers have come.

        That is one step. Each of them is answered as by `pull`, with a copy of its own; then the
        next round begins.
        """
        # TODO: a future for each, and somebody is the last.
        raise NotImplementedError("push_together")


def train(
    server: rpc.RRef, gradient_of: Callable[[torch.Tensor], torch.Tensor], steps: int
) -> tuple[int, torch.Tensor]:
    """Send so many gradients to the server, and return what it answers last. Given."""
    version, weights = server.rpc_sync().pull()
    for _ in range(steps):
        version, weights = server.rpc_sync().push_together(gradient_of(weights))
    return version, weights
