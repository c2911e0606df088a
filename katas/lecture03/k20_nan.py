"""Debug: the loss is finite, the weights are NaN, and one operator did it.

After the backward nearly everything is NaN, since NaN passes through all that follows. The culprit
is a node that got numbers and returned NaN:

    x = torch.zeros(1, requires_grad=True)
    torch.where(x > 0, x.sqrt(), 0.0).sum().backward()
    print(x.grad)                                        # nan

A hook of a node sees both sides. Write `watch`, about 7 lines, and find who was it up there.

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
    """Return whether one of these gradients has a NaN."""
    return any(grad is not None and bool(grad.isnan().any()) for grad in grads)


# ---- the exercise ----------------------------------------------------------------------------


def watch(root: torch.Tensor) -> list[str]:
    """Return a list that each backward through `root` extends by the names of culprits.

    A culprit is a node that gets gradients without NaN and returns one with NaN. A hook that
    ``node.register_hook`` registers runs after the node, with the gradients of its inputs first,
    those of its results second. No gradient changes, and no hook keeps the graph alive.
    """
    # TODO: a hook on each node; note its name beforehand.
    raise NotImplementedError("watch")
