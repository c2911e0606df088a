"""Act when all gradients are there.

The norm of a gradient concerns all tensors together. A hook on each runs when its own gradient is
there: who is the last? It depends on the graph, on this backward, and on who is not reached at all.
PyTorch has a hook that waits for several, and a Module has one that waits for its inputs and
outputs:

    torch.autograd.graph.register_multi_grad_hook([a, b], fn)      # fn([grad of a, grad of b])
    module.register_full_backward_hook(fn)                         # fn(module, by input, by output)

Write two tools with them, about 15 lines:

1. `log_norms`: a number for each backward.
2. `inspect_module`: shapes for each call of the module.

- Look, and change nothing.

Begin with ``print`` as the hook of two tensors, one of which the loss does not use.
Afterwards open ``torch/autograd/graph.py`` in site-packages: the hook is made of hooks on tensors,
a counter for each backward, and a lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TC002 - your answer calls it


if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch.utils.hooks import RemovableHandle


class Log:
    """What hooks have seen, and how to take them off. Given: do not change."""

    def __init__(self) -> None:
        self.shapes: list[tuple[tuple[tuple[int, ...] | None, ...], ...]] = []
        self.norms: list[float] = []
        self.handles: list[RemovableHandle] = []

    def remove(self) -> None:
        """Take the hooks off."""
        while self.handles:
            self.handles.pop().remove()


def log_norms(tensors: Iterable[torch.Tensor]) -> Log:
    """Return a log: each backward appends the norm of all gradients of `tensors` together.

    It is the root of the sum of the squares of all their elements: a float in ``log.norms``, one
    for each backward, when the last of these gradients has been computed. A tensor that this
    backward does not reach counts as 0. The tensors require grad, and keep their gradients.
    """
    # TODO: which hook waits for several tensors?
    raise NotImplementedError("log_norms")


def inspect_module(module: torch.nn.Module) -> Log:
    """Return a log: each backward through `module` appends a pair to ``log.shapes``.

    The pair is (shapes of the gradients of its inputs, shapes of those of its outputs), each a
    tuple with a tuple of ints for each gradient, or None where there is none: an input that is no
    tensor, an output that was not used.
    """
    # TODO: a module has a hook of its own for this.
    raise NotImplementedError("inspect_module")
