"""A parameter server over RPC: objects that live elsewhere, and answers that come later."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.distributed import rpc


if TYPE_CHECKING:
    from collections.abc import Callable


def gradient(weights: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the gradient of the mean of ``(x @ weights - y) ** 2``. Given."""
    return 2 * x.T @ (x @ weights - y) / len(y)


def everywhere(names: list[str], function: Callable[..., Any], *args: Any) -> list[Any]:
    """Run a function in several processes at once; return the results in the order of names."""
    futures = [rpc.rpc_async(name, function, args) for name in names]
    return [future.wait() for future in futures]


class ParameterServer:
    """Weights in one process, and what trainers in others ask of them."""

    def __init__(self, weights: torch.Tensor, lr: float, trainers: int) -> None:
        self.weights = weights.clone()
        self.lr = lr
        self.trainers = trainers
        self.version = 0
        self.lock = RLock()
        # Of this round: the gradients, and who waits for an answer.
        self.gradients: list[torch.Tensor] = []
        self.waiting: list[torch.futures.Future[tuple[int, torch.Tensor]]] = []

    def apply(self, gradient: torch.Tensor) -> None:
        """Make one step. Given; not for two threads at once."""
        self.weights -= self.lr * gradient
        self.version += 1

    def pull(self) -> tuple[int, torch.Tensor]:
        """Return the version and a copy of the weights."""
        with self.lock:
            return self.version, self.weights.clone()

    def push(self, gradient: torch.Tensor) -> int:
        """Apply a gradient at once; return the new version."""
        self._check(gradient)
        with self.lock:
            self.apply(gradient)
            return self.version

    @rpc.functions.async_execution
    def push_together(
        self, gradient: torch.Tensor
    ) -> torch.futures.Future[tuple[int, torch.Tensor]]:
        """Apply the mean when all have come; answer all with the new version and weights."""
        self._check(gradient)
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

    def _check(self, gradient: torch.Tensor) -> None:
        if gradient.shape != self.weights.shape:
            raise ValueError(f"the shape is {gradient.shape}, and not {self.weights.shape}")


def build(name: str, weights: torch.Tensor, lr: float, trainers: int) -> rpc.RRef:
    """Make a server in another process; return a reference to it."""
    return rpc.remote(name, ParameterServer, (weights, lr, trainers))


def train(
    server: rpc.RRef, x: torch.Tensor, y: torch.Tensor, steps: int, *, together: bool
) -> torch.Tensor:
    """Send so many gradients to the server; return the weights after them."""
    _, weights = server.rpc_sync().pull()
    for _ in range(steps):
        step = gradient(weights, x, y)
        if together:
            _, weights = server.rpc_sync().push_together(step)
        else:
            server.rpc_sync().push(step)
            _, weights = server.rpc_sync().pull()
    return weights
