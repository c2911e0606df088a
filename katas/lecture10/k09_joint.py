"""The joint graph: forward and backward in one graph, and the cut that makes two of it.

Autograd runs backward from a tape, one operator at a time. A compiler wants backward as a graph,
as it has forward. AOTAutograd traces both at once: backward is only more operators, and while
``make_fx`` traces, ``torch.autograd.grad`` is written down like anything else. The joint graph is
then cut into two. What crosses the cut is what forward has to save for backward.

Write three functions.

``joint_graph(function, primals)`` returns the GraphModule that
``torch.fx.experimental.proxy_tensor.make_fx`` makes of a function of two tuples,
``joint(primals, tangents)``. ``function(*primals)`` returns a tuple of tensors, the outputs.

- There is one tangent for each output, of the same shape and dtype: the gradient that arrives
  there. It is an input of the graph like any other, not a constant.
- joint returns the outputs and behind them one gradient for each primal: None if the primal
  requires no grad, or if the outputs do not depend on it.
- Tell make_fx of your function by these parameter names, ``primals`` and ``tangents``, and the
  graph's inputs are called ``primals_1``, ``primals_2``, ..., ``tangents_1``, ...: by these names
  PyTorch's partitioners know them. Nobody's ``.grad`` is touched.

``partition(joint, num_outputs)`` returns two GraphModules of flat arguments and changes nothing
in `joint`. The first `num_outputs` results of `joint` are the outputs, and as many placeholders
at its end are the tangents::

    forward(*primals)           -> (*outputs, *saved)
    backward(*saved, *tangents) -> gradients, a tuple, with None where joint has it

- forward holds what the outputs are computed from, no more. It takes all primals, used or not.
- backward holds the rest of what the gradients need. No operator stands in both.
- saved are the values of forward, or primals, that backward uses, or that are gradients
  themselves: each once, in the order of the joint graph, and nothing else. An output is saved
  too if backward uses it.
- A node may stand for several tensors, of which ``operator.getitem`` nodes are the items. Such a
  node is never saved; its items are. They belong to forward if it does, also if backward alone
  uses them (the mask of a dropout); what nobody uses is in neither graph.
- Nodes keep their order, and an input of a graph is a placeholder with the name of the node that
  it stands for (``node.name``).

``differentiable(forward, backward, num_outputs)`` returns a callable of the primals that returns
the tuple of outputs, by a ``torch.autograd.Function`` that calls the two. Saved values go through
``ctx.save_for_backward``, so that a write to one in between is noticed (PyTorch's error passes
through). An output whose gradient nobody computes has a tangent of zeros, which is what a Function
does by itself. The saved values carry no graph, so a gradient of the gradient would be silently
wrong: mark backward with ``torch.autograd.function.once_differentiable``, which makes it an error
where the gradient that comes in requires grad (and only there).

The rule for what is saved goes by what depends on what, as PyTorch's ``default_partition`` did
for years. Now it goes by where an operator was traced; on the programs of the tests both agree.

Out of scope: writes to tensors inside `function`, constants (all tensors come in as primals),
outputs that require no grad or are inputs or views of them, the same output twice, symbolic
shapes. About 50 lines. Use nothing of ``torch._functorch``, ``functorch.compile`` or
``torch.compile``: no AOTAutograd, no partitioner.

In PyTorch: ``torch/_functorch/_aot_autograd/graph_capture_wrappers.py`` (``create_joint``) and
``torch/_functorch/partitioners.py`` (``default_partition``,
``_extract_graph_with_inputs_outputs``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch  # noqa: TC002 - your answer calls it
from torch import fx  # noqa: TC002 - likewise


if TYPE_CHECKING:
    from collections.abc import Callable


def joint_graph(
    function: Callable[..., tuple[torch.Tensor, ...]], primals: tuple[torch.Tensor, ...]
) -> fx.GraphModule:
    """Return the graph of ``(primals, tangents) -> (*outputs, *gradients)``."""
    # TODO: write a function that computes both, and trace it.
    raise NotImplementedError("joint_graph")


def partition(joint: fx.GraphModule, num_outputs: int) -> tuple[fx.GraphModule, fx.GraphModule]:
    """Return a graph of forward and one of backward, with what is saved in between."""
    # TODO: find the nodes of each, find what crosses, and copy them into two new graphs.
    raise NotImplementedError("partition")


def differentiable(
    forward: Callable[..., Any], backward: Callable[..., Any], num_outputs: int
) -> Callable[..., tuple[torch.Tensor, ...]]:
    """Return ``(*primals) -> outputs``, whose gradients are those that `backward` computes."""
    # TODO: write a torch.autograd.Function around the two, and return its apply.
    raise NotImplementedError("differentiable")
