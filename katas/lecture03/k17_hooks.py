"""Hooks: four small tools that look into backward, or take part in it.

Backward offers four places to hook in. A hook registered on a *tensor* gets the gradient of
that tensor, and may return another one. A *pre-hook of a node* (``tensor.grad_fn``) gets the
gradients of the node's outputs before the node runs, a *hook of a node* gets the gradients of
its inputs and outputs after it has run. A *post-accumulate-grad hook* of a leaf gets the leaf
after ``.grad`` has been written. Each registration returns a handle; ``handle.remove()`` undoes
it. "Backward Hooks execution" in PyTorch's notes on autograd says in which order they run.

1. ``log_nodes(root)``: let each backward through ``root`` (a tensor with a ``grad_fn``) append
   ``node.name()`` of every node of its graph, ``AccumulateGrad`` included, to the list
   ``log.names``, once per run of that node and right after it ran. ``log.remove()`` takes all
   hooks off again; a second ``remove`` does nothing. Several logs may be on one graph. Walk the
   graph by ``node.next_functions``, and do not change a gradient. A graph may have many paths
   to one node: visit each once, and do not recurse (graphs are thousands of nodes deep). A log
   must not keep the graph alive.
2. ``clip_gradient(tensor, limit)``: let the gradient of `tensor` (a leaf or not) be cut off at
   -limit and limit *before* it goes on or is added to ``.grad``. The gradient tensor that came
   in may be used elsewhere: leave it as it is. Return the handle.
3. ``step_in_backward(parameters, rate)``: let each leaf take a step of gradient descent,
   ``p -= rate * p.grad``, as soon as its gradient is there, and drop the gradient (``p.grad =
   None``), so that the gradients of a model are never in memory all at once. The step itself
   is not recorded, not even in ``backward(create_graph=True)``. Return an object with
   ``remove()``, which takes all hooks off.
4. ``inspect_module(module)``: let each backward through `module` append one pair (shapes of the
   gradients of its inputs, shapes of the gradients of its outputs) to the list ``log.shapes``;
   each a tuple with a tuple of ints per gradient, or None where there is none
   (an input that is no tensor, an output that was not used). This
   covers every call of the module; ``log.remove()`` ends it.

About 35 lines. In PyTorch: ``torch/autograd/graph.py`` (``Node``), ``torch/_tensor.py``
(``register_hook``, ``register_post_accumulate_grad_hook``), ``torch/nn/modules/module.py``
(``register_full_backward_hook``) and ``torch/csrc/autograd/engine.cpp`` (``call_function``).
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
        self.names: list[str] = []
        self.shapes: list[tuple[tuple[tuple[int, ...] | None, ...], ...]] = []
        self.handles: list[RemovableHandle] = []

    def remove(self) -> None:
        """Take the hooks off."""
        while self.handles:
            self.handles.pop().remove()


def log_nodes(root: torch.Tensor) -> Log:
    """Return a log of the nodes of the graph of `root`, in the order in which they run."""
    # TODO: walk the graph once, with a hook on each node.
    raise NotImplementedError("log_nodes")


def clip_gradient(tensor: torch.Tensor, limit: float) -> RemovableHandle:
    """Cut the gradient of `tensor` off at -limit and limit, before anyone else sees it."""
    # TODO: which hook may answer with another gradient?
    raise NotImplementedError("clip_gradient")


def step_in_backward(parameters: Iterable[torch.Tensor], rate: float) -> Log:
    """Step each leaf and free its gradient as soon as it is accumulated."""
    # TODO: which hook runs after .grad is written?
    raise NotImplementedError("step_in_backward")


def inspect_module(module: torch.nn.Module) -> Log:
    """Return a log of the shapes of gradients that go in and out of `module`."""
    # TODO: a module has a hook of its own for this.
    raise NotImplementedError("inspect_module")
