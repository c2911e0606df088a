"""Fold what depends only on constants, once, before the program ships.

A layer with weight norm recomputes its weight on every run, from two tensors that no longer change:

    aten.linalg_vector_norm(v)    known: it reads a constant only
    aten.div(g, norm)             known: its inputs are
    aten.mul(v, div)              known
    aten.addmm(b, x, permute)     not known: x arrives at run time

PyTorch would not notice if you folded too much: a random number would never change, a counter
would stop, and a table of a few bytes, expanded, would fill the file.

1. `never_written`: the tensors that are constants.
2. `foldable`: which calls can be made now? Leave out random calls, tagged
   `torch.Tag.nondeterministic_seeded` in ``node.target.tags``, and each call whose result has more
   bytes than all the tensors it reads.
3. `fold`: make these calls, and turn each node into a placeholder for its result.

Begin with ``full([4], 2.0)``: which tensors does it read? About 21 lines.
Afterwards read ``ConstantFolder`` in ``torch/_inductor/constant_folding.py``, in site-packages.
"""

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
    # TODO: a loop over input_specs.
    raise NotImplementedError("never_written")


def foldable(graph: fx.Graph, known: Collection[str]) -> list[fx.Node]:
    """Return the calls to be made now, in order; `known` holds the names of known placeholders.

    A call that reads no tensor reads 0 bytes.
    """
    # TODO: node.all_input_nodes; what is folded is known to later calls.
    raise NotImplementedError("foldable")


def fold(program: ExportedProgram) -> Folded:
    """Return a folded copy; the program stays as it is.

    Leave out constants that no call reads any more; ensure that no constant requires a gradient.
    A node becomes a placeholder if you set its ``op``, its ``target`` (to its name) and its
    ``args`` and ``kwargs`` (to nothing). ``torch.fx.map_arg`` replaces nodes among arguments.
    """
    # TODO: on a copy.deepcopy of program.graph.
    raise NotImplementedError("fold")
