"""Wrong under torch.compile, right without: find the layer to blame.

A model trains, and compiled it does not. "torch.compile is broken" is no report: it has layers, and
each can be had without those above it.

    backend="eager"                         Dynamo: bytecode to a graph
    backend="aot_eager"                     + AOTAutograd: backward, functionalization
    backend="aot_eager_decomp_partition"    + decompositions, what is saved for backward
    backend="inductor"                      + fusion, generated code

The first layer that differs from plain Python is to blame. `blame` is there, and it is wrong: it
finds fault with layers that only round differently, fails over an input that got no gradient, and
gives a stale answer when it is called again.

Write `observe`, and mend `blame`, about 16 lines:

1. `observe` returns all that a training step could notice of a call.
2. `blame` compares that, with a tolerance, in a fresh compiler.

Begin with a list: what does a step use of a call, beside its outputs?
Afterwards read ``torch/_inductor/compiler_bisector.py``, in site-packages: it goes on within a
layer, to a pass or a kernel.
"""

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
    """Return the outputs of f; the gradients of the inputs that require them; the inputs, after.

    f gets copies of `inputs`, as leaves, and may write to those that require no gradient. Random
    numbers begin from seed 0, and the generator is left as it was. Gradients are for `weights` of
    the outputs that require grad; None for an input that has no part in them. If no output
    or no input requires grad, the list has no gradients.
    """
    # TODO: torch.random.fork_rng(devices=[]), and torch.autograd.grad.
    raise NotImplementedError("observe")


def blame(
    f: Callable[..., tuple[torch.Tensor, ...]],
    inputs: Sequence[torch.Tensor],
    layers: dict[str, Any] = LAYERS,
) -> str | None:
    """Return the first of `layers`, backends by name, that differs from f, or None.

    Values differ if they are off by more than 1e-10, absolute plus relative; they are float64 here,
    and a layer that returns another dtype differs by that. NaN equals NaN. What a layer raises goes
    on to the caller. No layer is compiled after the one to blame.
    """
    # TODO: torch.compiler.reset(), and torch.testing.assert_close.
    right = observe(f, inputs)
    for name, backend in layers.items():
        found = observe(torch.compile(f, backend=backend), inputs)
        if not all(torch.equal(a, b) for a, b in zip(found, right, strict=True)):  # type: ignore[arg-type]
            return name
    return None
