"""Gradients by backward, the generator by hand, and values compared one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


LAYERS = {
    "Dynamo": "eager",
    "AOTAutograd": "aot_eager",
    "decompositions": "aot_eager_decomp_partition",
    "Inductor": "inductor",
}


def weights(y: torch.Tensor) -> torch.Tensor:
    """Return a gradient for an output that differs from element to element. Given."""
    return torch.arange(1, y.numel() + 1, dtype=y.dtype).sqrt().reshape(y.shape)


def observe(
    f: Callable[..., tuple[torch.Tensor, ...]], inputs: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """Return the outputs of f; the gradients of the inputs that require them; the inputs, after."""
    copies = [torch.empty_like(x, requires_grad=False).copy_(x.detach()) for x in inputs]
    leaves = [
        copy.requires_grad_() for copy, x in zip(copies, inputs, strict=True) if x.requires_grad
    ]
    state = torch.get_rng_state()
    try:
        torch.manual_seed(0)
        outputs = f(*copies)
        differentiable = [y for y in outputs if y.requires_grad]
        for y in differentiable if leaves else []:
            y.backward(weights(y), retain_graph=True, inputs=leaves)
    finally:
        torch.set_rng_state(state)
    grads = [x.grad for x in leaves] if differentiable else []
    return [y.detach() for y in outputs] + grads + [x.detach() for x in copies]


def same(mine: torch.Tensor | None, theirs: torch.Tensor | None) -> bool:
    """Whether two values agree, or both are missing."""
    if mine is None or theirs is None:
        return mine is theirs
    if (mine.dtype, mine.shape) != (theirs.dtype, theirs.shape):
        return False
    return torch.allclose(mine, theirs, rtol=1e-10, atol=1e-10, equal_nan=True)


def blame(
    f: Callable[..., tuple[torch.Tensor, ...]],
    inputs: Sequence[torch.Tensor],
    layers: dict[str, Any] = LAYERS,
) -> str | None:
    """Return the first of `layers`, backends by name, that differs from f, or None."""
    right = observe(f, inputs)
    for name, backend in layers.items():
        torch.compiler.reset()
        found = observe(torch.compile(f, backend=backend), inputs)
        if len(found) != len(right) or not all(map(same, found, right)):
            return name
    return None
