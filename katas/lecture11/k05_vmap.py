"""Batching rules, which vmap uses instead of a loop.

vmap calls f once, with tensors that hide a dim of size B. Each operator has a rule that knows what
to do with the dim that f does not see:

    f sees           (3,) + (2, 3)             sum(dim=0) of (2, 3)
    there is       (B, 3) + (2, 3)             (B, 2, 3)
    naively        B meets 2                   sums over B
    the rule    (B, 1, 3) + (2, 3)             sum(dim=1)

1. `pointwise`: give both sides the same number of dims after the hidden one.
2. `reduction`: translate the dim that f names to where it really is.
3. `random_like`: does each row get its own random numbers, or do all rows share them?
4. `vmap`: hide a dim of each argument, call f, and expose the dim again.

Begin with the picture: what do you have to know about both sides before you reshape one?
Real life differs: PyTorch hides dims inside hidden dims, intercepts ``torch.rand(3)`` too, and
loops if an operator has no rule.
Afterwards find your three rules in PyTorch's repository: in
``aten/src/ATen/functorch/BatchRulesBinaryOps.cpp``, and in ``BatchRulesReduceOps.cpp`` and
``BatchRulesRandomness.cpp`` next to it.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator

    from torch import Tensor


# How `random_like` behaves: "error", "same" or "different".
MODE = ContextVar("MODE", default="error")


@contextmanager
def randomness_mode(mode: str) -> Iterator[None]:
    """Set `MODE` in a ``with``. Given."""
    token = MODE.set(mode)
    try:
        yield
    finally:
        MODE.reset(token)


class Batched:
    """A tensor that hides the first dim of its `value`. Given."""

    def __init__(self, value: Tensor) -> None:
        self.value = value

    @property
    def shape(self) -> torch.Size:
        """The shape that f sees."""
        return self.value.shape[1:]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the rule."""
        if func.__name__ not in RULES:
            raise KeyError(f"there is no batching rule for {func.__name__}")
        return RULES[func.__name__](func, *args, **(kwargs or {}))

    def __add__(self, other: Any) -> Any:
        return torch.add(self, other)  # type: ignore[arg-type, call-overload, unused-ignore]

    def __mul__(self, other: Any) -> Any:
        return torch.mul(self, other)  # type: ignore[arg-type, call-overload, unused-ignore]


def dims(x: Any) -> int:
    """Return how many dims f sees; a number has none. Given."""
    return len(getattr(x, "shape", ()))


def pointwise(func: Any, x: Any, y: Any) -> Batched:
    """Return func(x, y), broadcast as f sees it.

    At least one side is batched; the other may be a tensor or a number.
    """
    # TODO: insert dims of size 1 after the hidden dim.
    raise NotImplementedError("pointwise")


def reduction(func: Any, x: Batched, dim: int) -> Batched:
    """Return func(x, dim) for a `dim` that f sees, which may be negative."""
    # TODO: one line.
    raise NotImplementedError("reduction")


def random_like(func: Any, x: Batched) -> Any:
    """Return random numbers of the shape that f sees, according to `MODE`.

    "different": batched, with different numbers in each row. "same": a tensor without a batch.
    """
    if MODE.get() == "error":
        raise RuntimeError("vmap: called random operation while in randomness error mode")
    # TODO: call func once; with which tensor?
    raise NotImplementedError("random_like")


def vmap(
    f: Callable[..., Any],
    in_dims: int | tuple[int | None, ...] = 0,
    out_dims: int = 0,
    randomness: str = "error",
) -> Callable[..., Tensor]:
    """Return f mapped over dim `in_dims` of each argument; None leaves an argument as it is.

    At least one argument is mapped. The result has the dim at `out_dims`, even if f returns a
    tensor that is not batched. f is called once.
    """

    def mapped(*args: Any) -> Tensor:
        # The dim to hide in each argument, or None.
        places = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        # TODO: hide a dim of each argument that has a place, call f, and expose the dim.
        raise NotImplementedError(f"vmap of {len(places)} arguments")

    return mapped


RULES: dict[str, Callable[..., Any]] = {
    "add": pointwise,
    "sub": pointwise,
    "mul": pointwise,
    "maximum": pointwise,
    "sum": reduction,
    "cumsum": reduction,
    "amax": reduction,
    "rand_like": random_like,
    "randn_like": random_like,
}
