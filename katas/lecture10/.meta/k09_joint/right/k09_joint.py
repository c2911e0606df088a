"""A joint graph of forward and backward, and its partition into the two."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import fx
from torch.autograd.function import once_differentiable
from torch.fx.experimental.proxy_tensor import make_fx


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Sequence


def joint_graph(
    function: Callable[..., tuple[torch.Tensor, ...]], primals: tuple[torch.Tensor, ...]
) -> fx.GraphModule:
    """Return the graph of ``(primals, tangents) -> (*outputs, *gradients)``."""

    def joint(primals: Sequence[torch.Tensor], tangents: Sequence[torch.Tensor]) -> Any:
        outputs = function(*primals)
        wanted = [primal for primal in primals if primal.requires_grad]
        # autograd.grad runs operators, and make_fx writes them down like those of forward.
        found = iter(torch.autograd.grad(outputs, wanted, tangents, allow_unused=True))
        gradients = (next(found) if primal.requires_grad else None for primal in primals)
        return (*outputs, *gradients)

    # Whoever compiles the caller must not look in here: this is no torch.compile.
    traced = torch.compiler.disable(make_fx(joint))
    return traced(primals, tuple(torch.zeros_like(output) for output in function(*primals)))


def partition(joint: fx.GraphModule, num_outputs: int) -> tuple[fx.GraphModule, fx.GraphModule]:
    """Return a graph of forward and one of backward, with what is saved in between."""
    *nodes, output = joint.graph.nodes
    (results,) = output.args
    outputs, gradients = results[:num_outputs], results[num_outputs:]
    inputs = joint.graph.find_nodes(op="placeholder")
    primals, tangents = inputs[:-num_outputs], inputs[-num_outputs:]

    forward = _needed(outputs, set()) | set(primals)
    # A tuple cannot be saved: its items are at hand as soon as it is.
    forward |= {x for x in nodes if x.target is operator.getitem and x.args[0] in forward}
    backward = _needed(gradients, forward)
    wanted = {before for node in backward for before in node.all_input_nodes} | set(gradients)
    saved = [node for node in nodes if node in forward & wanted]
    return (
        _extract(joint, primals, forward, (*outputs, *saved)),
        _extract(joint, (*saved, *tangents), backward, gradients),
    )


def _needed(results: Iterable[fx.Node | None], known: set[fx.Node]) -> set[fx.Node]:
    """Return what `results` are computed from, as far back as nodes that are known."""
    needed: set[fx.Node] = set()
    waiting = [node for node in results if node is not None]
    while waiting:
        node = waiting.pop()
        if node not in needed | known:
            needed.add(node)
            waiting += node.all_input_nodes
    return needed


def _extract(
    joint: fx.GraphModule,
    inputs: Iterable[fx.Node],
    members: set[fx.Node],
    results: Iterable[fx.Node | None],
) -> fx.GraphModule:
    """Return a module of some nodes of `joint`, in the same order."""
    graph = fx.Graph()
    copies = {node: graph.placeholder(node.name) for node in inputs}
    for node in joint.graph.nodes:
        if node in members and node not in copies:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(tuple(None if node is None else copies[node] for node in results))
    # An item that nobody asked for was taken along with its tuple.
    graph.eliminate_dead_code()
    return fx.GraphModule(joint, graph)


def differentiable(
    forward: Callable[..., Any], backward: Callable[..., Any], num_outputs: int
) -> Callable[..., tuple[torch.Tensor, ...]]:
    """Return ``(*primals) -> outputs``, whose gradients are those that `backward` computes."""

    class Partitioned(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *primals: torch.Tensor) -> tuple[torch.Tensor, ...]:
            results = forward(*primals)
            ctx.save_for_backward(*results[num_outputs:])
            return results[:num_outputs]

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *tangents: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
            return backward(*ctx.saved_tensors, *tangents)

    return Partitioned.apply
