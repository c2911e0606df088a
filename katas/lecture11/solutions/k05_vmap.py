"""Batching rules, which vmap uses instead of a loop."""

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
    """Set `MODE` in a ``with``."""
    token = MODE.set(mode)
    try:
        yield
    finally:
        MODE.reset(token)


class Batched:
    """A tensor that hides the first dim of its `value`."""

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
    """Return how many dims f sees; a number has none."""
    return len(getattr(x, "shape", ()))


def pointwise(func: Any, x: Any, y: Any) -> Batched:
    """Return func(x, y), broadcast as f sees it.

    At least one side is batched; the other may be a tensor or a number.
    """
    count = max(dims(x), dims(y))

    def lined_up(side: Any) -> Any:
        if not isinstance(side, Batched):
            return side
        ones = [1] * (count - dims(side))
        return side.value.reshape(-1, *ones, *side.shape)

    return Batched(func(lined_up(x), lined_up(y)))


def reduction(func: Any, x: Batched, dim: int) -> Batched:
    """Return func(x, dim) for a `dim` that f sees, which may be negative."""
    return Batched(func(x.value, dim + 1 if dim >= 0 else dim))


def random_like(func: Any, x: Batched) -> Any:
    """Return random numbers of the shape that f sees, according to `MODE`.

    "different": batched, with different numbers in each row. "same": a tensor without a batch.
    """
    if MODE.get() == "error":
        raise RuntimeError("vmap: called random operation while in randomness error mode")
    if MODE.get() == "same":
        return func(x.value[0])
    return Batched(func(x.value))


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
        inputs = [
            x if dim is None else Batched(x.movedim(dim, 0))
            for x, dim in zip(args, places, strict=True)
        ]
        with randomness_mode(randomness):
            result = f(*inputs)
        if not isinstance(result, Batched):
            size = next(len(x.value) for x in inputs if isinstance(x, Batched))
            result = Batched(result.expand(size, *result.shape))
        return result.value.movedim(0, out_dims)

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
