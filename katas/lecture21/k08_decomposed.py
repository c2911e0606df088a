"""Open one operator, and find a hundred inside.

`grid_sample` has a backward, yet forward mode fails:

    torch.func.jvp(lambda x: F.grid_sample(x, grid, align_corners=False), (image,), (v,))

PyTorch keeps a table of decompositions: operators built from smaller ones. Forward mode supports
those. What do they cost?

    forward graph of 3 x 16 x 16 -> 3 x 8 x 8, float64     operators    kept for backward
    aten.grid_sampler_2d                                           1              7,168 B
    decomposed (torch 2.13)                                      111             37,664 B

Write `opened` and `kept`. About 8 lines.

Begin with ``get_decompositions([torch.ops.aten.grid_sampler_3d.default])``. What does it hold?
Afterwards read ``_grid_sampler_2d`` in ``torch/_decomp/decompositions.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch._decomp import get_decompositions
from torch.fx.experimental.proxy_tensor import make_fx


if TYPE_CHECKING:
    from collections.abc import Callable

    from torch._ops import OpOverload
    from torch.fx import GraphModule


def opened(f: Callable[..., torch.Tensor], op: OpOverload, *args: torch.Tensor) -> GraphModule:
    """Return the graph of ``f(*args)`` with `op` decomposed, and every other operator left whole.

    An operator that has no decomposition stays one node.
    """
    # TODO: make_fx takes a decomposition_table.
    raise NotImplementedError("opened")


def kept(f: Callable[..., torch.Tensor], *args: torch.Tensor) -> int:
    """Return how many bytes autograd saves for a backward while ``f(*args)`` runs.

    Count each storage whole, and only once, however many of its tensors or views are saved. The
    args that need a gradient already require it.
    """
    # TODO: torch.autograd.graph.saved_tensors_hooks, and Tensor.untyped_storage.
    raise NotImplementedError("kept")
