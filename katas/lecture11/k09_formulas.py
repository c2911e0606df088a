"""Find out for which operators ``jvp`` works, and for which ``vmap`` has a rule.

Without a forward-mode formula a differentiable operator raises. Without a batching rule most do
not: ``vmap`` falls back to a loop over the rows, warns, and is right but slow. See it happen:

    torch.func.vmap(lambda x: torch.histc(x, 4))(torch.rand(100, 9))

The list of these operators changes with each minor version, so write functions that find out.
Then print `table`: all four combinations occur.

Begin with two counts:

    print(count(torch.func.vmap(torch.sin), torch.rand(100, 9)))
    print(count(torch.func.vmap(OPERATORS["histc"]), torch.rand(100, 9)))

Afterwards open ``aten/src/ATen/functorch/BatchedFallback.cpp``: the warning names the line.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


if TYPE_CHECKING:
    from collections.abc import Callable


AT = torch.tensor([0, 2])
# Given: operators on a float64 tensor of shape (4,). The output of histc is not differentiable: it
# needs no forward-mode formula, and its tangent is 0.
OPERATORS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sin": torch.sin,
    "cumsum": lambda x: x.cumsum(0),
    "dot": lambda x: x @ x,
    "trapezoid": torch.trapezoid,
    "histc": lambda x: torch.histc(x, 4),
    "put": lambda x: x.put(AT, x[AT]),
    "heaviside": lambda x: torch.heaviside(x, x),
    "igamma": lambda x: torch.igamma(x, x),
    "index_reduce": lambda x: x.index_reduce(0, AT, x[AT], "mean"),
    "ormqr": lambda x: torch.ormqr(x.reshape(2, 2), x[:2], x.reshape(2, 2)),
}


class Count(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Given: counts the operators that run."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.total: int = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Count an operator, and run it."""
        self.total += 1
        return func(*args, **(kwargs or {}))


def count(function: Callable[..., Any], *arguments: torch.Tensor) -> int:
    """Given: return how many operators run in a call, without warnings."""
    with Count() as counted, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function(*arguments)
    return int(counted.total)


def jvp_works(function: Callable[..., Any], x: torch.Tensor) -> bool:
    """Whether ``torch.func.jvp`` works at x; if not, PyTorch raises NotImplementedError."""
    # TODO: about five lines; let any other error through.
    raise NotImplementedError("jvp_works")


def has_rule(function: Callable[..., Any], x: torch.Tensor) -> bool:
    """Whether ``vmap`` runs without a loop over rows like x: more rows take no more operators."""
    # TODO: two lines, with `count`.
    raise NotImplementedError("has_rule")


def table() -> str:
    """Given: return a line for each of `OPERATORS`."""
    x = torch.tensor([0.3, 0.9, 0.1, 0.7], dtype=torch.float64)
    return "\n".join(
        f"{name:14}jvp {'works' if jvp_works(function, x) else '-':8}"
        f"vmap {'rule' if has_rule(function, x) else 'loop'}"
        for name, function in OPERATORS.items()
    )
