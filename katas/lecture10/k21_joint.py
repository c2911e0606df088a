"""Forward and backward in one graph.

Autograd runs backward from a tape, one operator at a time. A compiler wants backward as a graph.
How do you get one? Trace a function that *calls* ``torch.autograd.grad``: to `make_fx`, backward
is just more operators.

    joint(primals, tangents)  ->  (*outputs, *gradients)

Write `joint_graph`, about 8 lines.

Begin by tracing ``lambda x: torch.autograd.grad(x.sin().sum(), x)``, and print the graph.
Afterwards find ``create_joint`` in ``torch/_functorch/_aot_autograd/graph_capture_wrappers.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx


if TYPE_CHECKING:
    from collections.abc import Callable


def joint_graph(
    function: Callable[..., tuple[torch.Tensor, ...]], primals: tuple[torch.Tensor, ...]
) -> fx.GraphModule:
    """Return ``make_fx`` of a function `joint` of two tuples, named `primals` and `tangents`.

    There is a tangent for each output, with its shape and dtype: the gradient that arrives there.
    After the outputs, `joint` returns a gradient for each primal, or None if the primal requires no
    grad or no output depends on it. Do not change any ``.grad``.
    """
    # TODO: write a function that computes both, and trace it.
    raise NotImplementedError("joint_graph")
