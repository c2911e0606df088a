"""A parameter server over RPC: objects that live elsewhere, and answers that come later.

Collectives are symmetric: all ranks call the same. A remote procedure call is not: one process asks
another one to run a function, and gets what it returns. Arguments and results travel as copies.
What shall not travel stays where it is, and others hold a *remote reference* to it, an ``RRef``.

- ``rpc.rpc_sync(to, function, args)`` runs a function in the process named `to`, and waits.
- ``rpc.rpc_async(to, function, args)`` returns a ``Future`` at once; ``future.wait()`` waits.
- ``rpc.remote(to, function, args)`` returns an ``RRef`` to the result, which stays there, with its
  *owner*. `function` may be a class. ``rref.rpc_sync().method(...)`` and
  ``rref.rpc_async().method(...)`` call a method of the object where it lives.
- What the function raises there is raised again here: a ``ValueError`` or ``TypeError`` as itself,
  a ``KeyError`` or an exception of your own as a ``RuntimeError`` that has its name in the text.
- Each process runs requests in a pool of threads, which may be a single one. A function under
  ``@rpc.functions.async_execution`` returns a ``torch.futures.Future``; the thread is free again,
  and the answer goes out when somebody calls ``future.set_result(...)``.

The tests call ``init_rpc`` and ``shutdown``; here you only use it.

**1.** ``everywhere(names, function, *args)`` runs a function in all the named processes at the same
time, and returns the results in the order of `names`. The calls may depend on each other: none of
them need return before all have begun.

**2.** ``ParameterServer(weights, lr, trainers)`` holds a copy of `weights`, and a version, 0 at
first, that counts the steps. Several threads call its methods at once.

- ``apply(gradient)`` is given: one step. No two threads may be in it at the same time.
- ``pull()`` returns the version and a copy of the weights that belong together.
- ``push(gradient)`` applies a gradient at once, and returns the new version. This is asynchronous
  SGD: by now others may have changed the weights that the gradient was computed for.
- ``push_together(gradient)`` is under ``async_execution``. It collects gradients until those of all
  `trainers` have arrived, then applies their mean, as one step, and answers all of them
  with the new version and weights, as ``pull()`` would. Then the next round begins. No thread may
  wait in it: the server must manage with a single one.
- Either push raises a ``ValueError`` that says "shape" for a gradient of another shape than the
  weights, which then does not count.

**3.** ``build(name, weights, lr, trainers)`` makes a ParameterServer in the process `name`, and
returns an ``RRef`` to it.

**4.** ``train(server, x, y, steps, *, together)`` is what a trainer does, with its own rows `x` and
`y`, and returns weights. `server` is an ``RRef`` of a ParameterServer. It calls the server's
methods by ``server.rpc_sync()`` or ``server.rpc_async()``, and computes
``gradient(weights, x, y)`` (given) itself.

- together: it pulls once, then sends `steps` gradients by ``push_together``, each for the weights
  that came back with the one before. It returns the last ones.
- else: before each gradient it pulls, then it sends the gradient by ``push`` and waits until that
  is answered. It pulls once more at the end, and returns that.

About 40 lines. Out of scope: trainers that die, distributed autograd
(``torch.distributed.autograd``), GPUs.

PyTorch's RPC is stable and in maintenance mode, and so is TensorPipe, over which it talks. What it
is made of is to be found in actor systems: functions found by name, references that are
counted, futures, and errors that come back. Source: Li et al., "Scaling distributed machine
learning with the parameter server" (2014).

In PyTorch: ``torch/distributed/rpc/api.py`` (``rpc_async``, ``remote``),
``torch/distributed/rpc/functions.py`` (``async_execution``),
``torch/csrc/distributed/rpc/rref_context.h`` (``RRefContext``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from torch.distributed import rpc


def gradient(weights: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the gradient of the mean of ``(x @ weights - y) ** 2``. Given."""
    return 2 * x.T @ (x @ weights - y) / len(y)


def everywhere(names: list[str], function: Callable[..., Any], *args: Any) -> list[Any]:
    """Run a function in several processes at once; return the results in the order of names."""
    # TODO: which of the three calls leaves you free to make the next one?
    raise NotImplementedError("everywhere")


class ParameterServer:
    """Weights in one process, and what trainers in others ask of them."""

    def __init__(self, weights: torch.Tensor, lr: float, trainers: int) -> None:
        self.weights = weights.clone()
        self.lr = lr
        self.trainers = trainers
        self.version = 0
        # TODO: what is still needed?

    def apply(self, gradient: torch.Tensor) -> None:
        """Make one step. Given; not for two threads at once."""
        self.weights -= self.lr * gradient
        self.version += 1

    def pull(self) -> tuple[int, torch.Tensor]:
        """Return the version and a copy of the weights."""
        # TODO: that belong together.
        raise NotImplementedError("pull")

    def push(self, gradient: torch.Tensor) -> int:
        """Apply a gradient at once; return the new version."""
        # TODO: look at its shape first.
        raise NotImplementedError("push")

    # TODO: decorate it.
    def push_together(
        self, gradient: torch.Tensor
    ) -> torch.futures.Future[tuple[int, torch.Tensor]]:
        """Apply the mean when all have come; answer all with the new version and weights."""
        # TODO: a future for each, and somebody is the last.
        raise NotImplementedError("push_together")


def build(name: str, weights: torch.Tensor, lr: float, trainers: int) -> rpc.RRef:
    """Make a server in another process; return a reference to it."""
    # TODO: one line.
    raise NotImplementedError("build")


def train(
    server: rpc.RRef, x: torch.Tensor, y: torch.Tensor, steps: int, *, together: bool
) -> torch.Tensor:
    """Send so many gradients to the server; return the weights after them."""
    # TODO: two loops.
    raise NotImplementedError("train")
