"""Put two graphs back under autograd.

A compiled forward and a compiled backward are two plain functions. For ``loss.backward()`` to find
the second, there must be a node on the tape that calls it:

    forward(*primals) -> (*outputs, *saved)           outputs go to the caller,
    backward(*saved, *tangents) -> gradients          saved to ctx, until backward runs

Fill in the ``torch.autograd.Function``, about 5 lines.

- Saved values go through ``ctx.save_for_backward``, so a write in between is noticed.
- They carry no graph, so a second derivative would be silently wrong: a decorator of
  ``torch.autograd.function`` makes it an error.

Begin with one output.
Afterwards open ``torch/_functorch/_aot_autograd/runtime_wrappers.py``: find ``CompiledFunction``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.autograd.function import once_differentiable


if TYPE_CHECKING:
    from collections.abc import Callable


def differentiable(
    forward: Callable[..., Any], backward: Callable[..., Any], num_outputs: int
) -> Callable[..., tuple[torch.Tensor, ...]]:
    """Return ``(*primals) -> outputs``, whose gradients are those that `backward` computes.

    The first `num_outputs` results of `forward` are the outputs: return them as a tuple. An output
    that has no gradient gets a tangent of zeros, which a Function creates by itself.
    """

    class Compiled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *primals: torch.Tensor) -> tuple[torch.Tensor, ...]:
            # TODO: call forward, keep what is saved, return the outputs.
            raise NotImplementedError("forward")

        @staticmethod
        def backward(ctx: Any, *tangents: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
            # TODO: call backward.
            raise NotImplementedError("backward")

    return Compiled.apply
