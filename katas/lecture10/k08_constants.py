"""Compute now what depends on no input.

``self.weight.t()`` gives the same tensor on every call of an inference graph. Why compute it every
time? Run it once, keep the result as a buffer, and let the graph read that.

    w = self.w                      new = self._folded_0
    t = aten.t.default(w)           mm = aten.mm.default(x, new)
    mm = aten.mm.default(x, t)

Write `fold_constants`, about 20 lines. `is_pure` and `may_write` are given.

- A pure node is constant if all nodes among its arguments are: a get_attr to begin with, and a call
  without node arguments, such as ``aten.arange``.
- A constant tensor becomes a buffer only if a node that is not constant needs it.
- A graph that may write stays as it is: after ``w.add_(1)``, w is not constant.

Begin with a dict from each constant node to its value, filled in the order of the graph.
Afterwards read ``split_const_subgraphs`` in ``torch/fx/experimental/const_fold.py``. Real life
differs: a folded weight cannot be trained, so Inductor folds only under ``freezing``.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx
from torch.fx.node import map_arg


def may_write(node: fx.Node) -> bool:
    """Return whether a node may write to one of its arguments. Given."""
    if node.op in {"placeholder", "get_attr", "output"} or node.target is operator.getitem:
        return False
    if not isinstance(node.target, torch._ops.OpOverload):  # noqa: SLF001
        return True
    return bool(node.target._schema.is_mutable)  # noqa: SLF001


def is_pure(node: fx.Node) -> bool:
    """Return whether a node is pure: no side effects, and the same value each time. Given."""
    if node.op in {"placeholder", "output"} or may_write(node):
        return False
    if not isinstance(node.target, torch._ops.OpOverload):  # noqa: SLF001 - it has no other name
        return True
    random = torch.Tag.nondeterministic_seeded in node.target.tags
    # A call that returns nothing is made for its effect, as an assertion is.
    return not random and bool(node.target._schema.returns)  # noqa: SLF001


def value_of(gm: fx.GraphModule, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
    """Return the value of a get_attr or a call, given the values of its inputs. Given."""
    if node.op == "get_attr":
        return operator.attrgetter(node.target)(gm)
    args, kwargs = map_arg((node.args, node.kwargs), values.__getitem__)
    return node.target(*args, **kwargs)


def fold_constants(gm: fx.GraphModule) -> int:
    """Fold in place; return by how many nodes the graph has shrunk, 0 if a node may write.

    The constants run under ``torch.no_grad()``. Each one that a non-constant or the output uses is
    replaced by a get_attr of a new buffer, which requires no grad, under a name that `gm` did
    not have. A constant that is not a tensor (the list that ``aten.split`` returns) stays
    where it is used; the tensors that ``operator.getitem`` takes from it are folded.

    Then let ``Graph.eliminate_dead_code`` remove what is pure and unused (see its argument
    `is_impure_node`), and recompile.
    """
    # TODO: compute the constants, then store those that others need.
    raise NotImplementedError("fold_constants")
