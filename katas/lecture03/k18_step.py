"""Perf: don't hold all gradients of a model at a time.

After ``backward`` a model has as many bytes of gradients as of parameters, and the optimizer needs
each of them for a moment. Let it have each at that moment:

    backward:   grad of layer 3 -> step -> gone | grad of layer 2 -> step -> gone | ...

Write `step_in_backward`, about 6 lines.

Begin with the hook that runs when ``.grad`` has been written:
``Tensor.register_post_accumulate_grad_hook``.
Afterwards find it in ``torch/_tensor.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TC002 - your answer calls it


if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch.utils.hooks import RemovableHandle


class Log:
    """How to take hooks off. Given: do not change."""

    def __init__(self) -> None:
        self.handles: list[RemovableHandle] = []

    def remove(self) -> None:
        """Take the hooks off; a second time it does nothing."""
        while self.handles:
            self.handles.pop().remove()


def step_in_backward(parameters: Iterable[torch.Tensor], rate: float) -> Log:
    """Let each leaf take a step, ``p -= rate * p.grad``, when its gradient is there.

    All of them require one. Then the gradient goes: ``p.grad = None``. The step is in place and not
    recorded, not even in ``backward(create_graph=True)``. Return a log whose ``remove()`` takes all
    hooks off.
    """
    # TODO: which hook runs after .grad is written?
    raise NotImplementedError("step_in_backward")
