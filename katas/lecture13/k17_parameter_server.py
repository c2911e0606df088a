"""A parameter server: calls to other processes, and answers that come later.

Collectives are symmetric. A remote procedure call is not: a trainer asks another process to run
a method, and waits for the answer.

    trainer 1  -- push_together(g1) -->  server          (no answer yet)
    trainer 2  -- push_together(g2) -->  server: step
    both       <-- version, weights ---

The server runs requests in a pool of threads. If a thread waited for the last trainer, a pool of
one would never see it. So `push_together` returns a Future at once, and
``@rpc.functions.async_execution`` sends the answer when somebody sets the result.

1. `pull` and `push`: one lock, for everything that belongs together.
2. `push_together`: collect gradients and futures; the last caller takes the step and answers
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
    """Weights in one process, and the methods that trainers call, from many threads at once."""

    def __init__(self, weights: torch.Tensor, lr: float, trainers: int) -> None:
        self.weights = weights.clone()
        self.lr = lr
        self.trainers = trainers
        # The number of steps taken so far.
        self.version = 0
        # Reentrant: its holder may take it again.
        self.lock = RLock()
        # The current round: its gradients, and the futures that are not answered yet.
        self.gradients: list[torch.Tensor] = []
        self.waiting: list[torch.futures.Future[tuple[int, torch.Tensor]]] = []

    def apply(self, gradient: torch.Tensor) -> None:
        """Take one step. Given; not thread-safe."""
        self.weights -= self.lr * gradient
        self.version += 1

    def check(self, gradient: torch.Tensor) -> None:
        """Reject a gradient of a different shape. Given."""
        if gradient.shape != self.weights.shape:
            raise ValueError(f"the shape is {gradient.shape}, and not {self.weights.shape}")

    def pull(self) -> tuple[int, torch.Tensor]:
        """Return the version and a copy of the weights of that same version."""
        # TODO: another thread may be in the middle of a step.
        raise NotImplementedError("pull")

    def push(self, gradient: torch.Tensor) -> int:
        """Check a gradient, apply it at once, and return the version after this step."""
        # TODO: three lines.
        raise NotImplementedError("push")

    # TODO: decorate it.
    def push_together(
        self, gradient: torch.Tensor
    ) -> torch.futures.Future[tuple[int, torch.Tensor]]:
        """Check a gradient; apply the mean once all trainers' gradients have arrived.

        That is one step. Each trainer is answered as by `pull`, with its own copy; then the next
        round begins.
        """
        # TODO: a future for each caller, one of whom is the last.
        raise NotImplementedError("push_together")


def train(
    server: rpc.RRef, gradient_of: Callable[[torch.Tensor], torch.Tensor], steps: int
) -> tuple[int, torch.Tensor]:
    """Send `steps` gradients to the server, and return its last answer. Given."""
    version, weights = server.rpc_sync().pull()
    for _ in range(steps):
        version, weights = server.rpc_sync().push_together(gradient_of(weights))
    return version, weights
