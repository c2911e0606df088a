"""Hooks: look into backward while it runs, or take part in it.

Gradients explode, and the loss shows it an hour later. You can hook into backward at tensors, nodes
and leaves; each registration returns a handle that removes the hook:

    tensor hooks > node's pre-hooks > the node runs > node's hooks
    for a leaf:    tensor hooks > .grad is written > post-accumulate-grad hooks

Write two tools, about 16 lines:

1. `log_nodes`: which nodes ran, and in which order? Walk the graph as in k01, with a hook on each
   node.
2. `clip_gradient`: which hook may return a different gradient?

- A hook whose closure refers to its node forms a cycle with it: look up what you need beforehand.
- The incoming gradient may be used elsewhere: do not change it.

Begin with one node: ``x.exp().grad_fn.register_hook(print)``, then run backward.
Afterwards open ``torch/autograd/graph.py`` in site-packages (``Node``), and read "Backward Hooks
execution" in PyTorch's notes on autograd.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from torch.utils.hooks import RemovableHandle


class Log:
    """What hooks have recorded, and their handles. Given: do not change."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.handles: list[RemovableHandle] = []

    def remove(self) -> None:
        """Remove the hooks; a second call does nothing."""
        while self.handles:
            self.handles.pop().remove()


def log_nodes(root: torch.Tensor) -> Log:
    """Return a log: each backward through `root` appends the names of nodes to ``log.names``.

    Append ``node.name()`` of each node, AccumulateGrad included, right after it runs; a second
    backward appends them again. Change no gradient. A graph may have several logs; removing one
    leaves the others in place. The graph may be ten thousand nodes deep, and must be freed
    with its tensors: the log must not keep it alive.
    """
    # TODO: walk the graph once, with a hook on each node.
    raise NotImplementedError("log_nodes")


def clip_gradient(tensor: torch.Tensor, limit: float) -> RemovableHandle:
    """Clip the gradient of `tensor` to [-limit, limit] before it is passed on or accumulated.

    `tensor` may be a leaf or not. Return the handle of the hook.
    """
    # TODO: which hook may return a different gradient?
    raise NotImplementedError("clip_gradient")
