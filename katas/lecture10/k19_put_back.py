"""Write through a view, without a write.

``x[0] += 1`` writes to a row, and x changes. A compiler wants the same without a write: a new x, in
which that row is replaced. For each kind of view there is an operator that undoes it.

    view of base                                    base becomes
    aten.select.int(base, 0, 1)                     aten.select_scatter.default(base, value, 0, 1)
    aten.t.default(base)                            aten.t.default(value)
    aten.view.default(base, [6])                    aten.reshape.default(value, sizes of base)

Write `put_back`, about 15 lines, for twelve kinds of views.

Begin in Python: which dims undo ``x.permute(2, 0, 1)``?
Afterwards read ``aten/src/ATen/FunctionalInverses.cpp``, which has a function for each view.
"""

from __future__ import annotations

import torch
from torch import fx


aten = torch.ops.aten
# Maps a view that picks elements to the operator that replaces them in the base.
SCATTERS = {
    aten.select.int: aten.select_scatter.default,
    aten.slice.Tensor: aten.slice_scatter.default,
    aten.diagonal.default: aten.diagonal_scatter.default,
}


def put_back(graph: fx.Graph, view: fx.Node, base: fx.Node, value: fx.Node) -> fx.Node:
    """Add to `graph` what `base` becomes if `value` replaces its view, and return that node.

    `view` is the node, of another graph, that created the view: its first argument is what was
    viewed (whose fake tensor is ``meta["val"]``), and `base` is the new node for it.

    - One of `SCATTERS`: its operator applied to base, value, and the view's arguments after the
      first.
    - ``view.default``, ``unsqueeze.default``, ``squeeze.default``, ``squeeze.dim``: the elements
      stay in order, so ``reshape.default`` of value to the sizes of what was viewed.
    - ``t.default``, ``transpose.int``, ``permute.default`` (dims may be negative): the same
      operator.
    - ``detach.default``, ``alias.default``: value itself.
    - Any other view: raise a ValueError that says "cannot write through" and names the operator.
    """
    # TODO: which operator undoes this view?
    raise NotImplementedError("put_back")
