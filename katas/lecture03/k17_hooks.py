"""Hooks: look into backward while it runs, or take part in it.

Gradients explode, and the loss says so an hour later. Backward has places to look in, at tensors,
at nodes, and at leaves; each registration returns a handle that takes it off again:

    tensor hooks > node's pre-hooks > the node runs > node's hooks
    for a leaf:    tensor hooks > .grad is written > post-accumulate-grad hooks

Write two tools, about 16 lines:

1. `log_nodes`: which nodes ran, and in which order? Walk the graph as in k01, with a hook on each
   node.
2. `clip_gradient`: which hook may answer with another gradient?

- A hook that names its node is owned by it, and owns it: note what you need beforehand.
- The gradient that comes in may be used elsewhere: leave it as it is.

Begin with one node: ``x.exp().grad_fn.register_hook(print)``, then go backward.
Afterwards open ``torch/autograd/graph.py`` in site-packages (``Node``), and read "Backward Hooks
execution" in PyTorch's notes on autograd.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TC002 - your answer calls it


if TYPE_CHECKING:
    from torch.utils.hooks import RemovableHandle


class Log:
    """What hooks have seen, and how to take them off. Given: do not change."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.handles: list[RemovableHandle] = []

    def remove(self) -> None:
        """Take the hooks off; a second time it does nothing."""
        while self.handles:
            self.handles.pop().remove()


def log_nodes(root: torch.Tensor) -> Log:
    """Return a log: each backward through `root` appends the names of nodes to ``log.names``.

    ``node.name()`` of each node that runs, AccumulateGrad included, right after it ran; a second
    backward appends them again. No gradient changes. There may be several logs on a graph, and one
    that is removed leaves the others on. The graph may be ten thousand nodes deep, and goes when
    its tensors go, log or not.
    """
    # TODO: walk the graph once, with a hook on each node.
    raise NotImplementedError("log_nodes")


def clip_gradient(tensor: torch.Tensor, limit: float) -> RemovableHandle:
    """Cut the gradient of `tensor` off at -limit and limit, before it goes on or into ``.grad``.

    `tensor` is a leaf or not. Return the handle of the hook.
    """
    # TODO: which hook may answer with another gradient?
    raise NotImplementedError("clip_gradient")
