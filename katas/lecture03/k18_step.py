"""Perf: don't hold all gradients of a model at once.

After ``backward`` a model has as many bytes of gradients as of parameters, and the optimizer needs
each of them only for a moment. Step as soon as each one arrives:

    backward:   grad of layer 3 -> step -> gone | grad of layer 2 -> step -> gone | ...

Write `step_in_backward`, about 6 lines.

Begin with the hook that runs when ``.grad`` has been written:
``Tensor.register_post_accumulate_grad_hook``.
Afterwards find it in ``torch/_tensor.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch.utils.hooks import RemovableHandle


class Log:
    """The handles of hooks. Given: do not change."""

    def __init__(self) -> None:
        self.handles: list[RemovableHandle] = []

    def remove(self) -> None:
        """Remove the hooks; a second call does nothing."""
        while self.handles:
            self.handles.pop().remove()


def step_in_backward(parameters: Iterable[torch.Tensor], rate: float) -> Log:
    """Make each leaf take a step, ``p -= rate * p.grad``, when its gradient arrives.

    All leaves require a gradient. After the step, free it: ``p.grad = None``. The step is in place
    and not recorded, not even in ``backward(create_graph=True)``. Return a log whose ``remove()``
    removes all hooks.
    """
    # TODO: which hook runs after .grad is written?
    raise NotImplementedError("step_in_backward")
