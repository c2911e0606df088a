"""Forward mode for ten operators, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from torch import Tensor


NAMES = ("add", "mul", "div", "sin", "exp", "tanh", "matmul", "sum", "maximum", "softmax")


class Dual:
    """A primal and its tangent, of the same shape; constants get a tangent of zeros."""

    def __init__(self, primal: Any, tangent: Any = None) -> None:
        self.primal: Tensor = torch.as_tensor(primal)
        self.tangent: Tensor = torch.zeros_like(self.primal) if tangent is None else tangent

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Dual:
        """Call the function with the primals, and then its rule."""
        if func.__name__ not in RULES:
            raise NotImplementedError(f"RULES has no rule for {func.__name__}")
        duals = [x if isinstance(x, Dual) else Dual(x) for x in args]
        options = kwargs or {}
        result = func(*[x.primal for x in duals], **options)
        return cls(result, RULES[func.__name__](result, *duals, **options))

    def __add__(self, other: Any) -> Any:
        return torch.add(self, other)  # type: ignore[arg-type, call-overload, unused-ignore]

    def __mul__(self, other: Any) -> Any:
        return torch.mul(self, other)  # type: ignore[arg-type, call-overload, unused-ignore]

    def __truediv__(self, other: Any) -> Any:
        return torch.div(self, other)  # type: ignore[arg-type, call-overload, unused-ignore]

    def __matmul__(self, other: Any) -> Any:
        return torch.matmul(self, other)  # type: ignore[arg-type, call-overload, unused-ignore]

    __radd__, __rmul__ = __add__, __mul__


# From the result of a function of torch, and its arguments as duals, to the tangent of the result,
# which has the shape of the result. Options, such as dim, come by keyword, as in the call.
RULES: dict[str, Callable[..., Tensor]] = {
    "add": lambda _, x, y: x.tangent + y.tangent,
    "mul": lambda _, x, y: torch.mul(y.tangent, x.primal) + torch.mul(y.primal, x.tangent),
    "div": lambda _, x, y: (x.tangent * y.primal - x.primal * y.tangent) / (y.primal * y.primal),
    "sin": lambda _, x: torch.cos(x.primal) * x.tangent,
    "exp": lambda result, x: result * x.tangent,
    "tanh": lambda result, x: x.tangent - x.tangent * result**2,
    "matmul": lambda _, x, y: torch.matmul(x.primal, y.tangent) + torch.matmul(x.tangent, y.primal),
    "sum": lambda _, x, **options: torch.sum(x.tangent, **options),
}


def rule_of_maximum(_: Tensor, x: Any, y: Any) -> Tensor:
    """Weigh both tangents: 1, 0 or one half."""
    weight = (x.primal > y.primal) + 0.5 * (x.primal == y.primal)
    found: Tensor = weight * x.tangent + (1 - weight) * y.tangent
    return found


def rule_of_softmax(result: Tensor, x: Any, dim: int) -> Tensor:
    """Multiply out."""
    moved = result * x.tangent
    found: Tensor = moved - result * torch.sum(moved, dim=dim, keepdim=True)
    return found


RULES["maximum"], RULES["softmax"] = rule_of_maximum, rule_of_softmax


def jvp(
    f: Callable[..., Any], primals: Sequence[Tensor], tangents: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """Return f(*primals) and its tangent; each primal comes with a tangent.

    If f returns a plain tensor, it depends on no primal, and its tangent is zeros.
    """
    duals = [Dual(x, t) for x, t in zip(primals, tangents, strict=True)]
    y = f(*duals)
    if isinstance(y, Dual):
        return y.primal, y.tangent
    return y, y * 0
