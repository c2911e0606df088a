"""Forward and backward in one graph."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx


if TYPE_CHECKING:
    from collections.abc import Callable


def joint_graph(
    function: Callable[..., tuple[torch.Tensor, ...]], primals: tuple[torch.Tensor, ...]
) -> fx.GraphModule:
    """Return the graph of ``(primals, tangents) -> (*outputs, *gradients)``."""

    def joint(primals: Any, tangents: Any) -> Any:
        outputs = function(*primals)
        wanted = [primal for primal in primals if primal.requires_grad]
        # autograd.grad runs operators, and make_fx records them like those of forward.
        found = iter(torch.autograd.grad(outputs, wanted, tangents, allow_unused=True))
        return (*outputs, *(next(found) if x.requires_grad else None for x in primals))

    tangents = tuple(torch.zeros_like(output) for output in function(*primals))
    return make_fx(joint)(primals, tangents)
