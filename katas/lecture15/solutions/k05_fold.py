"""Fold what depends only on constants, once, before the program ships."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING
from typing import NamedTuple

import torch


if TYPE_CHECKING:
    from collections.abc import Collection

    from torch import fx
    from torch.export import ExportedProgram


# Given: do not change.
class Folded(NamedTuple):
    """A graph, and the tensor of each placeholder that is not an input, by its name."""

    graph: fx.Graph
    constants: dict[str, torch.Tensor]


def tensors_of(program: ExportedProgram) -> dict[str, torch.Tensor]:
    """Return parameters, buffers and constants by their names in the Module."""
    return {**program.state_dict, **program.constants}


# The exercise.
def never_written(program: ExportedProgram) -> dict[str, torch.Tensor]:
    """Return the tensors that no run changes, by the names of their placeholders.

    In ``program.graph_signature``, ``input_specs`` pair these names (``spec.arg.name``) with names
    in the Module (``spec.target``). The values of ``buffers_to_mutate`` are overwritten on every
    run.
    """
    written = program.graph_signature.buffers_to_mutate.values()
    named = {spec.target: spec.arg.name for spec in program.graph_signature.input_specs}
    return {named[key]: x for key, x in tensors_of(program).items() if key not in written}


def foldable(graph: fx.Graph, known: Collection[str]) -> list[fx.Node]:
    """Return the calls to be made now, in order; `known` holds the names of known placeholders.

    A call that reads no tensor reads 0 bytes.
    """
    found: list[fx.Node] = []
    for node in graph.nodes:
        reads = node.all_input_nodes
        if node.op == "call_function" and all(n in found or n.name in known for n in reads):
            small = node.meta["val"].nbytes <= sum(n.meta["val"].nbytes for n in reads)
            if small and torch.Tag.nondeterministic_seeded not in node.target.tags:
                found.append(node)
    return found


def fold(program: ExportedProgram) -> Folded:
    """Return a folded copy; the program stays as it is.

    Leave out constants that no call reads any more; ensure that no constant requires a gradient.
    A node becomes a placeholder if you set its ``op``, its ``target`` (to its name) and its
    ``args`` and ``kwargs`` (to nothing). ``torch.fx.map_arg`` replaces nodes among arguments.
    """
    graph, constants = copy.deepcopy(program.graph), never_written(program)
    for node in foldable(graph, constants):
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda n: constants[n.name])
        constants[node.name] = node.target(*args, **kwargs)  # type: ignore[operator]
        node.op, node.target, node.args, node.kwargs = "placeholder", node.name, (), {}
    for node in list(graph.nodes):
        if node.name in constants and not node.users:
            graph.erase_node(node)
            del constants[node.name]
    return Folded(graph, {name: tensor.detach() for name, tensor in constants.items()})
