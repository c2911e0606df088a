"""Wrong under torch.compile, right without: find the layer to blame.

A model trains, but not when compiled. "torch.compile is broken" is not a bug report. The compiler
has layers, and you can run each without the layers above it.

    backend="eager"                         Dynamo: bytecode to a graph
    backend="aot_eager"                     + AOTAutograd: backward, functionalization
    backend="aot_eager_decomp_partition"    + decompositions, what is saved for backward
    backend="inductor"                      + fusion, generated code

The first layer that differs from plain Python is to blame. The given `blame` is wrong: it blames
layers that only round differently, fails if an input got no gradient, and returns a stale answer
when called again.

Write `observe` and fix `blame`, about 16 lines:

1. `observe` returns everything that a training step could notice about a call.
2. `blame` compares observations, with a tolerance, each time with a freshly reset compiler.

Begin with a list: what does a step use besides the outputs?
Afterwards read ``torch/_inductor/compiler_bisector.py``, in site-packages: it continues within a
layer, down to a pass or a kernel.
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
    """Return a gradient for an output, different for each element. Given."""
    return torch.arange(1, y.numel() + 1, dtype=y.dtype).sqrt().reshape(y.shape)


def observe(
    f: Callable[..., tuple[torch.Tensor, ...]], inputs: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """Return f's outputs, the gradients of inputs that require them, and the inputs afterwards.

    f gets copies of `inputs`, as leaves, and may write to those that require no gradient. Seed the
    random numbers with 0, and restore the generator. Compute gradients for `weights` of the outputs
    that require grad; use None for an input that they do not depend on. If no output or no input
    requires grad, the list has no gradients.
    """
    # TODO: torch.random.fork_rng(devices=[]), and torch.autograd.grad.
    raise NotImplementedError("observe")


def blame(
    f: Callable[..., tuple[torch.Tensor, ...]],
    inputs: Sequence[torch.Tensor],
    layers: dict[str, Any] = LAYERS,
) -> str | None:
    """Return the first of `layers`, backends by name, that differs from f, or None.

    Values differ if they are off by more than 1e-10, absolute plus relative. They are float64 here;
    a different dtype counts as a difference too. NaN equals NaN. Let a layer's exceptions
    propagate. Compile no layer after the guilty one.
    """
    # TODO: torch.compiler.reset(), and torch.testing.assert_close.
    right = observe(f, inputs)
    for name, backend in layers.items():
        found = observe(torch.compile(f, backend=backend), inputs)
        if not all(torch.equal(a, b) for a, b in zip(found, right, strict=True)):  # type: ignore[arg-type]
            return name
    return None
