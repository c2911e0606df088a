"""Activation checkpointing: forget in forward, compute again in backward."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


class _Checkpoint(torch.autograd.Function):
    """Saves tensors and a random state, and runs the function twice."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., torch.Tensor], *inputs: Any) -> torch.Tensor:
        """Run the function; forward of a Function has grad mode off."""
        ctx.function = function
        ctx.state = torch.get_rng_state()
        # Tensors are saved, so that their versions are checked; the rest keeps its place.
        ctx.places = [isinstance(x, torch.Tensor) for x in inputs]
        ctx.save_for_backward(*(x for x in inputs if isinstance(x, torch.Tensor)))
        ctx.others = [None if isinstance(x, torch.Tensor) else x for x in inputs]
        return function(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Run the function again, with a graph, and go backward through that."""
        tensors = iter(ctx.saved_tensors)
        needed = ctx.needs_input_grad[1:]
        inputs = [
            next(tensors).detach().requires_grad_(need) if here else other
            for here, other, need in zip(ctx.places, ctx.others, needed, strict=True)
        ]
        with torch.enable_grad(), torch.random.fork_rng(devices=()):
            torch.set_rng_state(ctx.state)
            result = ctx.function(*inputs)
        torch.autograd.backward(result, gradient)
        return None, *(x.grad if need else None for x, need in zip(inputs, needed, strict=True))


def checkpoint(function: Callable[..., torch.Tensor], *inputs: Any) -> torch.Tensor:
    """Return ``function(*inputs)``, which saves its inputs alone and runs again in backward."""
    return _Checkpoint.apply(function, *inputs)
