"""Act when all gradients have arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.autograd.graph import register_multi_grad_hook


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence

    import torch
    from torch.utils.hooks import RemovableHandle


class Log:
    """What hooks have recorded, and their handles. Given: do not change."""

    def __init__(self) -> None:
        self.shapes: list[tuple[tuple[tuple[int, ...] | None, ...], ...]] = []
        self.norms: list[float] = []
        self.handles: list[RemovableHandle] = []

    def remove(self) -> None:
        """Remove the hooks."""
        while self.handles:
            self.handles.pop().remove()


def log_norms(tensors: Iterable[torch.Tensor]) -> Log:
    """Return a log: each backward appends the norm of all gradients of `tensors` together."""
    log = Log()

    def note(grads: Sequence[torch.Tensor | None]) -> None:
        log.norms.append(sum(g.square().sum().item() for g in grads if g is not None) ** 0.5)

    log.handles.append(register_multi_grad_hook(list(tensors), note))
    return log


def inspect_module(module: torch.nn.Module) -> Log:
    """Return a log: each backward through `module` appends a pair to ``log.shapes``."""
    log = Log()

    def note(_: torch.nn.Module, *grads: tuple[torch.Tensor | None, ...]) -> None:
        log.shapes.append(
            tuple(tuple(None if g is None else tuple(g.shape) for g in side) for side in grads)
        )

    log.handles.append(module.register_full_backward_hook(note))
    return log
