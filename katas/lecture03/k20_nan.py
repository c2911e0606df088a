"""Debug: the loss is finite, the weights are NaN, and one operator did it.

After backward nearly everything is NaN, because NaN passes through all later nodes. The culprit is
a node that got numbers and returned NaN:

    x = torch.zeros(1, requires_grad=True)
    torch.where(x > 0, x.sqrt(), 0.0).sum().backward()
    print(x.grad)                                        # nan

A node's hook sees both. Write `watch`, about 7 lines, and find the culprit above.

Begin on paper: ``sqrt`` at 0 gets a gradient of 0. What is 0 / 0?
Afterwards see ``torch/autograd/anomaly_mode.py`` in site-packages: k21 builds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable

    import torch
    from torch.autograd.graph import Node


# ---- given -----------------------------------------------------------------------------------


def nodes(root: torch.Tensor) -> list[Node]:
    """Return each node behind a tensor, as in k01."""
    found: dict[Node, None] = {}
    waiting = [root.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found[node] = None
            waiting += [child for child, _ in node.next_functions]
    return list(found)


def has_nan(grads: Iterable[torch.Tensor | None]) -> bool:
    """Return whether one of these gradients contains NaN."""
    return any(grad is not None and bool(grad.isnan().any()) for grad in grads)


# ---- the exercise ----------------------------------------------------------------------------


def watch(root: torch.Tensor) -> list[str]:
    """Return a list; each backward through `root` appends the names of culprits to it.

    A culprit is a node that gets gradients without NaN and returns one with NaN. A hook registered
    by ``node.register_hook`` runs after the node; its arguments are the gradients of the node's
    inputs, then those of its results. Change no gradient, and let no hook keep the graph alive.
    """
    # TODO: a hook on each node; look up its name beforehand.
    raise NotImplementedError("watch")
