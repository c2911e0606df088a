"""Compute the same thing once.

A traced model is full of repetitions: two layers read the same mask, and each computes it. Common
subexpression elimination turns them into one node. What makes two nodes *the same*?

    a = aten.add.Tensor(x, 1)           a = aten.add.Tensor(x, 1)
    b = aten.add.Tensor(x, 1)           c = aten.sin.default(a)
    c = aten.sin.default(a)             return (c, c)
    d = aten.sin.default(b)
    return (c, d)

Write `merge_duplicates`, about 20 lines; `is_pure` and `may_write` are given. The key is the whole
exercise: a hashable object for each node, equal if and only if the value is the same.

Begin in Python: ``1 == True``, ``0.0 == -0.0``. And x + 1, x + True? And 1 / 0.0, 1 / -0.0?
Afterwards read ``fx_graph_cse`` in ``torch/_functorch/compile_utils.py``.
"""

from __future__ import annotations

import operator

import torch
from torch import fx


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


def merge_duplicates(gm: fx.GraphModule) -> int:
    """Merge in place; return by how many nodes the graph has shrunk, 0 if a node may write.

    Of all pure nodes with the same target, arguments and keyword arguments, keep the first one.
    Arguments are the same if they are the same node, or nodes that have become one, or literals of
    the same type and value, also in lists. The order of keywords does not matter. Recompile at the
    end.
    """
    # TODO: find a key for each node that is equal if and only if its value is the same.
    raise NotImplementedError("merge_duplicates")
