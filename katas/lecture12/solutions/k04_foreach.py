"""Perf: Adam for a list of tensors, in seven launches."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from torch import Tensor


RATE, BETA1, BETA2, EPS = 0.01, 0.9, 0.99, 1e-8


class Launches(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Lists the ATen operators called inside a ``with`` block. Given."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the operator and run it."""
        if func.namespace == "aten":
            self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def launches(call: Callable[[], object]) -> list[str]:
    """Return the operators that a call launches. Given."""
    seen = Launches()
    with seen:
        call()
    return seen.names


@torch.no_grad()
def loop_step(
    ps: Sequence[Tensor],
    grads: Sequence[Tensor],
    ms: Sequence[Tensor],
    vs: Sequence[Tensor],
    t: int,
) -> None:
    """Take step `t`, counted from 1, one parameter after the other. Given."""
    for p, grad, m, v in zip(ps, grads, ms, vs, strict=True):
        m.lerp_(grad, 1 - BETA1)
        v.mul_(BETA2).addcmul_(grad, grad, value=1 - BETA2)
        d = (v.sqrt() / (1 - BETA2**t) ** 0.5).add_(EPS)
        p.addcdiv_(m, d, value=-RATE / (1 - BETA1**t))


def kinds(ps: Sequence[Tensor]) -> list[list[int]]:
    """Return the indices of `ps`, in one list for each device and dtype, in order.

    The lists are in the order in which their kinds first appear.
    """
    found: dict[tuple[torch.device, torch.dtype], list[int]] = {}
    for n, p in enumerate(ps):
        found.setdefault((p.device, p.dtype), []).append(n)
    return list(found.values())


@torch.no_grad()
def foreach_step(
    ps: Sequence[Tensor],
    grads: Sequence[Tensor],
    ms: Sequence[Tensor],
    vs: Sequence[Tensor],
    t: int,
) -> None:
    """Do what `loop_step` does, in seven launches per kind, for any number of tensors."""
    for kind in kinds(ps):
        p, grad, m, v = ([xs[n] for n in kind] for xs in (ps, grads, ms, vs))
        torch._foreach_lerp_(m, grad, 1 - BETA1)
        torch._foreach_mul_(v, BETA2)
        torch._foreach_addcmul_(v, grad, grad, 1 - BETA2)
        d = torch._foreach_sqrt(v)  # noqa: SLF001
        torch._foreach_div_(d, (1 - BETA2**t) ** 0.5)
        torch._foreach_add_(d, EPS)
        torch._foreach_addcdiv_(p, m, d, -RATE / (1 - BETA1**t))
