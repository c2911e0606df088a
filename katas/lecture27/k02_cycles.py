"""When is a tensor freed? Immediately, by the collector, or not at all.

Python frees an object when its last reference is removed. A cycle has no last reference: the
garbage collector must find it some time later. It cannot see some references in C++.

    ctx.save_for_backward(y)       immediately
    ctx.y = y                      ?
    y.register_hook(... y ...)     ?

Write `fate` (about five lines), then run:

    print({name: fate(make) for name, make in CASES.items()})

Guess all seven first. Begin with a ``weakref.ref``.
Afterwards explain the hooks: a grad_fn also holds them, in C++; a leaf has no grad_fn. Then read
"as opposed to directly on ctx" in ``torch/autograd/function.py``.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator


class Saved(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """Double, and save the output as PyTorch recommends."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return 2x."""
        y = x * 2
        ctx.save_for_backward(y)
        return y


class Kept(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """Double, and keep the output as an attribute."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return 2x."""
        ctx.y = x * 2
        return ctx.y  # type: ignore[no-any-return]


def leaf() -> torch.Tensor:
    """Return a tensor that requires grad."""
    return torch.ones(2, requires_grad=True)


def apply(function: type[torch.autograd.Function]) -> object:
    """Return the result of applying a function to a leaf."""
    return function.apply(leaf())  # type: ignore[no-untyped-call, unused-ignore]


def hooked() -> torch.Tensor:
    """Return a tensor with a hook that reads it."""
    y = leaf() * 2
    y.register_hook(lambda grad: grad * y)  # type: ignore[no-untyped-call, unused-ignore]
    return y


def hooked_leaf() -> torch.Tensor:
    """Return a leaf with a hook that reads it."""
    y = leaf()
    y.register_hook(lambda grad: grad * y)  # type: ignore[no-untyped-call, unused-ignore]
    return y


def twice_differentiable() -> torch.Tensor:
    """Return a tensor whose .grad has a graph that leads back to it."""
    y = leaf()
    torch.autograd.backward((y**2).sum(), create_graph=True)
    return y


def module() -> torch.nn.Module:
    """Return a module with a hook that reads it."""
    m = torch.nn.Linear(2, 2)
    m.register_forward_hook(lambda *_: m.bias)
    return m


CASES: dict[str, Callable[[], object]] = {
    "plain": leaf,
    "save_for_backward": lambda: apply(Saved),
    "attribute of ctx": lambda: apply(Kept),
    "hook": hooked,
    "hook of a leaf": hooked_leaf,
    "create_graph": twice_differentiable,
    "hook of a module": module,
}


@contextmanager
def collector_off() -> Iterator[None]:
    """Run a block without the garbage collector, then restore its state. Given."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def fate(make: Callable[[], object]) -> str:
    """Return "immediately", "collected" or "kept": the fate of the object that make returns.

    "collected" means that a full collection frees it, and nothing before that. Call make once. The
    collector must not run on its own meanwhile.
    """
    # TODO: with collector_off(): ...
    raise NotImplementedError("fate")
