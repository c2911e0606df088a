"""Perf: don't hold all gradients of a model at once."""

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
    """Make each leaf take a step, ``p -= rate * p.grad``, when its gradient arrives."""
    log = Log()

    def step(parameter: torch.Tensor) -> None:
        with torch.no_grad():
            parameter -= rate * parameter.grad
        parameter.grad = None

    log.handles += [p.register_post_accumulate_grad_hook(step) for p in parameters]
    return log
