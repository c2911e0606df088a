"""Wrong under torch.compile, right without: find the layer to blame."""

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
    """Return a gradient for an output, different for each element. Given."""
    return torch.arange(1, y.numel() + 1, dtype=y.dtype).sqrt().reshape(y.shape)


def observe(
    f: Callable[..., tuple[torch.Tensor, ...]], inputs: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """Return f's outputs, the gradients of inputs that require them, and the inputs afterwards."""
    copies = [x.detach().clone().requires_grad_(x.requires_grad) for x in inputs]
    leaves = [x for x in copies if x.requires_grad]
    grads: tuple[torch.Tensor | None, ...] = ()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        outputs = f(*copies)
        ys = [y for y in outputs if y.requires_grad]
        if ys and leaves:
            ws = [weights(y) for y in ys]
            grads = torch.autograd.grad(ys, leaves, ws, allow_unused=True)
    return [*outputs, *grads, *copies]


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
        try:
            torch.testing.assert_close(found, right, rtol=1e-10, atol=1e-10, equal_nan=True)
        except AssertionError:
            return name
    return None
