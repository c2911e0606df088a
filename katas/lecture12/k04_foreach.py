"""Perf: Adam for a list of tensors, in seven launches.

For a model of 20 parameters the loop makes 140 launches a step, for 2000 parameters 14000; on a GPU
each takes microseconds, however small the tensor. Try it in ``python -i
katas/lecture12/k04_foreach.py``. It prints 180 for the loop: 20 more launches count steps, and 20
read a count (``_local_scalar_dense``; foreach has 40 of those).

    for more in ({}, {"foreach": True}, {"fused": True}):
        ps = [torch.ones(3, requires_grad=True) for _ in range(20)]
        sum(p.sum() for p in ps).backward()
        step = torch.optim.Adam(ps, **more).step
        step()
        print(more, len(launches(step)))

PyTorch's foreach operators take lists: ``torch._foreach_mul_(xs, 2.0)`` is ``x.mul_(2.0)`` for each
x in one launch. Each operator you need has such a form, which takes `value` last, as a positional
argument. A list must hold one kind of tensor: on a GPU a mixed list is launched tensor by tensor,
which `launches` cannot see.

1. Write `kinds`.
2. Write `foreach_step`: the lines of `loop_step`, for each kind.

Begin with one kind and ``torch._foreach_lerp_``.
Real life differs: on a CPU a foreach operator is a loop in C++, so the default there is the loop.
Afterwards read ``_multi_tensor_adam`` in ``torch/optim/adam.py``, in site-packages.
"""

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
    # TODO: a dict with pairs as keys.
    raise NotImplementedError("kinds")


@torch.no_grad()
def foreach_step(
    ps: Sequence[Tensor],
    grads: Sequence[Tensor],
    ms: Sequence[Tensor],
    vs: Sequence[Tensor],
    t: int,
) -> None:
    """Do what `loop_step` does, in seven launches per kind, for any number of tensors.

    Results are equal bit for bit, in float32 and float64. Change `ps`, `ms` and `vs` in place, but
    not `grads`.
    """
    # TODO: loop over kinds(ps), with seven calls inside.
    raise NotImplementedError("foreach_step")
