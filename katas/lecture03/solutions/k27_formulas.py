"""Explore: find out which operators have a derivative formula, and for which arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


if TYPE_CHECKING:
    from torch._ops import OpOverload


def kernel(name: str, backend: str = "CPU") -> str:
    """Return what autograd runs for an operator: "composite", "autograd" or "fallback"."""

    def has(key: str) -> bool:
        return torch._C._dispatch_has_kernel_for_dispatch_key(name, key)  # noqa: SLF001

    if has(f"Autograd{backend}"):
        return "autograd"
    # What is made of other operators needs no formula, unless this backend has a shortcut for it.
    is_opaque = has(backend) or has("CompositeExplicitAutograd")
    if has("CompositeImplicitAutograd") and not is_opaque:
        return "composite"
    return "autograd" if has("Autograd") else "fallback"


def disputed(first: str, second: str) -> set[str]:
    """Return the names of all aten operators that two backends differentiate differently."""
    return {
        name
        for name in torch._C._dispatch_get_all_op_names()  # noqa: SLF001
        if name.startswith("aten::") and kernel(name, first) != kernel(name, second)
    }


def gradients(op: OpOverload, *args: Any) -> dict[str, str]:
    """Return for each floating-point tensor "formula", "missing", "refused" or "none"."""
    return {
        argument.name: _gradient(op, args, position)
        for position, argument in enumerate(op._schema.arguments[: len(args)])  # noqa: SLF001
        if isinstance(args[position], torch.Tensor) and args[position].is_floating_point()
    }


def _gradient(op: OpOverload, args: tuple[Any, ...], position: int) -> str:
    inputs = [arg.detach().clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
    # A clone is no leaf, so the operator may write to it.
    inputs[position] = inputs[position].requires_grad_().clone()
    try:
        results = op(*inputs)
    except RuntimeError as error:
        if "not differentiable with respect to" not in str(error):
            raise
        return "refused"
    results = results if isinstance(results, (tuple, list)) else [results]
    recorded = [each for each in results if isinstance(each, torch.Tensor) and each.requires_grad]
    if not recorded:
        return "none"
    try:
        torch.autograd.backward(recorded, [torch.ones_like(each) for each in recorded])
    except RuntimeError as error:
        if "not implemented" not in str(error):
            raise
        return "missing"
    return "formula"


class _Seen(TorchDispatchMode):
    """Notes the operators that come out below autograd."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


def parts(op: OpOverload, *args: Any) -> list[str]:
    """Return the names of the operators with kernels of their own that a call runs."""
    with _Seen() as seen:
        op(*args)
    return seen.names
