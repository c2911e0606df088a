"""A parameter server over RPC: answers that come later, and one lock."""

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
        with self.lock:
            return self.version, self.weights.clone()

    def push(self, gradient: torch.Tensor) -> int:
        """Check a gradient, apply it at once, and return the version after this step."""
        self.check(gradient)
        with self.lock:
            self.apply(gradient)
            return self.version

    @rpc.functions.async_execution
    def push_together(
        self, gradient: torch.Tensor
    ) -> torch.futures.Future[tuple[int, torch.Tensor]]:
        """Check a gradient; apply the mean once all trainers' gradients have arrived.

        That is one step. Each trainer is answered as by `pull`, with its own copy; then the next
        round begins.
        """
        self.check(gradient)
        future: torch.futures.Future[tuple[int, torch.Tensor]] = torch.futures.Future()
        with self.lock:
            self.gradients.append(gradient)
            self.waiting.append(future)
            if len(self.waiting) == self.trainers:
                self.apply(torch.stack(self.gradients).mean(0))
                waiting, self.waiting, self.gradients = self.waiting, [], []
                for each in waiting:
                    each.set_result(self.pull())
        return future


def train(
    server: rpc.RRef, gradient_of: Callable[[torch.Tensor], torch.Tensor], steps: int
) -> tuple[int, torch.Tensor]:
    """Send `steps` gradients to the server, and return its last answer. Given."""
    version, weights = server.rpc_sync().pull()
    for _ in range(steps):
        version, weights = server.rpc_sync().push_together(gradient_of(weights))
    return version, weights
