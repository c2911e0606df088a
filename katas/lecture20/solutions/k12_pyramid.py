"""A feature pyramid on a classifier whose head is cut off.

A classifier throws its maps away and returns a thousand logits; a detector wants the maps, at
several sizes, and no head. torch.fx cuts: trace the model, let the graph return other nodes, and
remove what nobody uses.

    x ── stem ── layer1 ────── layer2 ────── layer3 ── pool ── fc      head: dropped
                   │             │             │
                 lateral       lateral       lateral
                   │             │             │
                   + ◄─ enlarge ─ + ◄─ enlarge ─┤
                   │             │             │
                 smooth        smooth        smooth
                level 0       level 1       level 2

Write three functions, about 20 lines:

1. `level`: which map a box reads from: a large box from a coarse one.
2. `pyramid`: from the coarsest map down to the finest.
3. `cut`: leave the model as it is, and share its layers. Create the GraphModule before you
   eliminate dead code: the graph asks its module which layers have side effects.

Begin with print(Levels(["layer1"]).trace(model)) on one of your models: which node is last?
Afterwards read ``eliminate_dead_code`` in ``torch/fx/graph.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import fx
from torch.nn.functional import interpolate


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Sequence

    from torch import nn

    Layer = Callable[[torch.Tensor], torch.Tensor]


class Levels(fx.Tracer):
    """Given: a tracer for which each named submodule is one node, whatever it contains."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()
        self.names = {*names}

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Return whether a call of `m` is recorded as one node."""
        return module_qualified_name in self.names or super().is_leaf_module(
            m, module_qualified_name
        )


def level(boxes: torch.Tensor, low: int, high: int) -> torch.Tensor:
    """Return the index of the map of each box (x1, y1, x2, y2), int64, 0 for the finest.

    No box ends before it begins: x2 >= x1, y2 >= y1.
    A box of area 224 * 224 belongs to level 4, one with twice its sides to level 5, and so on:
    4 + log2(sqrt(area) / 224), rounded down. Add 1e-6 before rounding, so that a box of 224 pixels
    does not drop to level 3 in float32. Only levels `low` to `high` exist, and index 0 is level
    `low`.
    """
    width, height = (boxes[:, 2:] - boxes[:, :2]).unbind(1)
    exact = 4 + ((width * height).sqrt() / 224).log2() + 1e-6
    return exact.floor().clamp(low, high).long() - low


def pyramid(
    maps: Sequence[torch.Tensor], lateral: Sequence[Layer], smooth: Sequence[Layer]
) -> list[torch.Tensor]:
    """Return a map for each of `maps`, in the same order: the finest is first.

    Each merged map is its lateral plus the coarser merged map, enlarged to exactly its size with
    mode="nearest". Sizes may be odd. Apply `smooth` last, only to the returned maps.
    """
    merged, returned = None, []
    for x, narrow, wide in zip(maps[::-1], lateral[::-1], smooth[::-1], strict=True):
        here = narrow(x)
        if merged is not None:
            here = here + interpolate(merged, size=here.shape[-2:], mode="nearest")
        merged = here
        returned.append(wide(merged))
    return returned[::-1]


def cut(model: nn.Module, names: Sequence[str]) -> fx.GraphModule:
    """Return a module that returns {name: output of that submodule}, in the order of `names`.

    It runs the same layers as `model` and has no others. Each named submodule is called once.
    """
    graph = Levels(names).trace(model)
    made = {node.target: node for node in graph.nodes if node.op == "call_module"}
    graph.output_node().args = ({name: made[name] for name in names},)
    module = fx.GraphModule(model, graph)
    module.graph.eliminate_dead_code()
    module.delete_all_unused_submodules()
    module.recompile()
    return module
