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
        """Call the function with the primals, then its rule."""
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


# A rule takes a function's result and its arguments as duals, and returns the result's tangent,
# which has the same shape as the result. Options, such as dim, are keywords, as in the call.
RULES: dict[str, Callable[..., Tensor]] = {
    "add": lambda result, x, y: x.tangent + y.tangent,
    "mul": lambda result, x, y: x.tangent * y.primal + x.primal * y.tangent,
    "div": lambda result, x, y: (x.tangent - result * y.tangent) / y.primal,
    "sin": lambda result, x: x.tangent * x.primal.cos(),
    "exp": lambda result, x: x.tangent * result,
    "tanh": lambda result, x: x.tangent * (1 - result * result),
    "matmul": lambda result, x, y: x.tangent @ y.primal + x.primal @ y.tangent,
    "sum": lambda result, x, **options: x.tangent.sum(**options),
    "maximum": lambda result, x, y: torch.where(
        x.primal == y.primal,
        (x.tangent + y.tangent) / 2,
        torch.where(x.primal > y.primal, x.tangent, y.tangent),
    ),
    "softmax": lambda result, x, dim: (
        result * (x.tangent - (result * x.tangent).sum(dim, keepdim=True))
    ),
}


def jvp(
    f: Callable[..., Any], primals: Sequence[Tensor], tangents: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """Return f(*primals) and its tangent; each primal has a tangent.

    If f returns a plain tensor, it depends on no primal, and its tangent is zeros.
    """
    result = f(*map(Dual, primals, tangents))
    if not isinstance(result, Dual):
        result = Dual(result)
    return result.primal, result.tangent
