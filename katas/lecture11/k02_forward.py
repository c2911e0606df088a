"""Forward mode for ten operators, one line each.

Reverse mode keeps what each operator needs until ``backward`` runs. Forward mode carries a tangent
along instead of a graph: once the next operator has run, the previous one can be forgotten.
PyTorch's derivatives.yaml has a formula for each mode; ``result:`` is the one for forward mode:

    name: sin(Tensor self)
      self:   grad * self.cos().conj()
      result: auto_element_wise             # short for self_t * self_p.cos()

`Dual` carries the pair through each function of torch and gets the tangent from `RULES`.

1. `RULES`: one rule for each name in `NAMES`. "add" is given.
2. `jvp`: wrap, call, unwrap.

- The rules of exp, tanh and softmax must not use the primal: `result` is enough.
- Where both sides of maximum are equal, PyTorch takes the mean of the tangents.

Begin with "mul". On paper: which operators are linear, so that they treat tangents like values?
Real life differs: a constant's tangent is an ``_efficientzerotensor``, which mul skips; softmax
computes its result a second time (``logsumexp_jvp``).
Afterwards read ``torchgen/packaged/autograd/derivatives.yaml``, in site-packages
(``tools/autograd/derivatives.yaml`` in the repository): look for mm, not matmul, and _softmax.
"""

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
    """A primal and its tangent, of the same shape; constants get a tangent of zeros. Given."""

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
    # TODO: nine more, from "mul" to "softmax".
}


def jvp(
    f: Callable[..., Any], primals: Sequence[Tensor], tangents: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """Return f(*primals) and its tangent; each primal has a tangent.

    If f returns a plain tensor, it depends on no primal, and its tangent is zeros.
    """
    # TODO: create duals, call f, and unpack its result.
    raise NotImplementedError("jvp")
