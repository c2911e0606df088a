"""Perf: Adam for a list of tensors, in seven launches.

A model of 20 parameters costs the loop 140 launches a step, and one of 2000 costs 14000; on a GPU
each takes microseconds, however small the tensor. Ask PyTorch, in
``python -i katas/lecture12/k04_foreach.py``. It prints 180 for the loop: 20 more count steps, and
20 read a count, ``_local_scalar_dense``, of which foreach has 40.

    for more in ({}, {"foreach": True}, {"fused": True}):
        ps = [torch.ones(3, requires_grad=True) for _ in range(20)]
        sum(p.sum() for p in ps).backward()
        step = torch.optim.Adam(ps, **more).step
        step()
        print(more, len(launches(step)))

Its foreach operators take lists: ``torch._foreach_mul_(xs, 2.0)`` is ``x.mul_(2.0)`` for each x in
one launch. The operators you need have one, and take `value` last, without its name. A list must
hold one kind of tensor: on a GPU a mixed one is launched tensor by tensor, unseen by `launches`.

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
    """Lists ATen's operators that are called in a ``with``. Given."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run it."""
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
    """Take step `t`, the first of which is 1, one parameter after the other. Given."""
    for p, grad, m, v in zip(ps, grads, ms, vs, strict=True):
        m.lerp_(grad, 1 - BETA1)
        v.mul_(BETA2).addcmul_(grad, grad, value=1 - BETA2)
        d = (v.sqrt() / (1 - BETA2**t) ** 0.5).add_(EPS)
        p.addcdiv_(m, d, value=-RATE / (1 - BETA1**t))


def kinds(ps: Sequence[Tensor]) -> list[list[int]]:
    """Return the indices of `ps`, those of each device and dtype in a list, in order.

    The kind that is met first comes first.
    """
    # TODO: a dict, whose keys are pairs.
    raise NotImplementedError("kinds")


@torch.no_grad()
def foreach_step(
    ps: Sequence[Tensor],
    grads: Sequence[Tensor],
    ms: Sequence[Tensor],
    vs: Sequence[Tensor],
    t: int,
) -> None:
    """Do what `loop_step` does, in seven launches per kind, however many are of it.

    To the bit, for float32 and float64. Changes `ps`, `ms` and `vs` in place; `grads` stay.
    """
    # TODO: a loop over kinds(ps), and seven calls in it.
    raise NotImplementedError("foreach_step")
