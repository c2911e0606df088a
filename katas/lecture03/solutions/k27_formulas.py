"""Explore: operators with a derivative formula, composites, and operators without either."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


if TYPE_CHECKING:
    from torch._ops import OpOverload


# ---- given -----------------------------------------------------------------------------------


def asking(args: tuple[Any, ...], position: int) -> list[Any]:
    """Return copies of `args`; only the one at `position` requires grad.

    That copy is not a leaf, so the operator may write to it.
    """
    inputs = [arg.detach().clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
    inputs[position] = inputs[position].requires_grad_().clone()
    return inputs


def recorded(results: object) -> list[torch.Tensor]:
    """Return the tensors in `results` (one, or a tuple or list) that require grad."""
    every = results if isinstance(results, tuple | list) else [results]
    return [each for each in every if isinstance(each, torch.Tensor) and each.requires_grad]


def gradients(op: OpOverload, *args: Any) -> dict[str, str]:
    """Return the result of `gradient` for each floating-point tensor, by argument name."""
    return {
        argument.name: gradient(op, asking(args, position))
        for position, argument in enumerate(op._schema.arguments[: len(args)])  # noqa: SLF001
        if isinstance(args[position], torch.Tensor) and args[position].is_floating_point()
    }


# ---- the exercise ----------------------------------------------------------------------------


def gradient(op: OpOverload, inputs: list[Any]) -> str:
    """Return what happens to the gradient of the only one of `inputs` that requires grad."""
    try:
        results = recorded(op(*inputs))
    except RuntimeError as error:
        if "not differentiable with respect to" not in str(error):
            raise
        return "refused"
    if not results:
        return "none"
    try:
        torch.autograd.backward(results, [torch.ones_like(each) for each in results])
    except RuntimeError as error:
        if "not implemented" not in str(error):
            raise
        return "missing"
    return "formula"


class _Seen(TorchDispatchMode):
    """Records the operators that arrive below autograd."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


def parts(op: OpOverload, *args: Any) -> list[str]:
    """Return the operators whose own kernels the call ``op(*args)`` runs, in order."""
    with _Seen() as seen:
        op(*args)
    return seen.names
