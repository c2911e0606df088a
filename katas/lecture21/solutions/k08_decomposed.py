"""Open one operator, and find a hundred inside."""

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
    return make_fx(f, decomposition_table=get_decompositions([op]))(*args)


def kept(f: Callable[..., torch.Tensor], *args: torch.Tensor) -> int:
    """Return how many bytes autograd saves for a backward while ``f(*args)`` runs.

    Count each storage whole, and only once, however many of its tensors or views are saved. The
    args that need a gradient already require it.
    """
    storages: dict[int, torch.UntypedStorage] = {}

    def pack(saved: torch.Tensor) -> torch.Tensor:
        storages[saved.untyped_storage().data_ptr()] = saved.untyped_storage()
        return saved

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved):
        f(*args)
    return sum(storage.nbytes() for storage in storages.values())
