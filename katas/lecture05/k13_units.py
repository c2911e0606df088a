"""Write a tensor that knows its unit.

A Mars probe was lost because one program used pounds and another newtons. Both numbers were floats.
Make them tensors that check units before they add:

    way, time = quantity(torch.tensor([6.0, 8.0]), m=1), quantity(torch.tensor(2.0), s=1)
    way / time                      # [3, 4], and its unit is {"m": 1, "s": -1}
    way + time                      # UnitError

torch.div, ``/`` and ``.div`` all call ``__torch_function__`` if an argument is a subclass. Write
it, in about 12 lines; the rule of each function is given.

1. Find the rule, and the units of its operands.
2. Call the rule first, then PyTorch.
3. Put the unit on the result.

Begin by printing ``func.__name__``, args and kwargs for ``2 * way``, ``1 / way`` and ``way.shape``.
Afterwards read ``Tensor.__torch_function__`` in ``torch/_tensor.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    # Exponents, never 0; {} is the unit of a number, None is an unknown unit.
    Unit = dict[str, int] | None


class UnitError(ValueError):
    """Two units do not match. Given; a TypeError would make ``+`` try the other operand."""


class Quantity(torch.Tensor):
    """A tensor with a unit, which is unknown unless it is set."""

    unit: Unit = None

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: Any, args: Sequence = (), kwargs: dict | None = None
    ) -> Any:
        """Call `func`; if `RULES` has its name, give the result the unit that the rule returns.

        `RULES` also gives the number of operands. These are the first arguments, positional or
        named "input" and "other"; call the rule with their units, `unit_of` each. The rule may
        raise a UnitError, and then nothing may have been written yet. A function without a rule,
        including attributes such as ``shape``, returns its normal result, with unknown units; one
        that writes in place is out of scope.
        """
        # TODO: super().__torch_function__(func, types, args, kwargs) calls PyTorch.
        raise NotImplementedError("Quantity.__torch_function__")


def unit_of(value: object) -> Unit:
    """Return the unit of an operand: {} if it is not a Quantity."""
    # TODO: numbers and plain tensors are operands too.
    raise NotImplementedError("unit_of")


def quantity(value: torch.Tensor, **unit: int) -> Quantity:
    """Return a Quantity on the memory of `value`: ``quantity(x, m=1, s=-2)``. Given."""
    result = value.as_subclass(Quantity)
    result.unit = unit
    return result


# Given: the rules, each a function of units.
def same(units: list[Unit]) -> Unit:
    """Return the unit that the operands share."""
    if None in units:
        return None
    if any(unit != units[0] for unit in units):
        raise UnitError(f"{units[0]} and {units[1]}")
    return units[0]


def product(units: list[Unit], sign: int = 1) -> Unit:
    """Return the sum of the exponents; multiply the second operand's by `sign`."""
    if None in units:
        return None
    first, second = units
    total = {key: first.get(key, 0) + sign * second.get(key, 0) for key in {*first, *second}}
    return {key: n for key, n in total.items() if n}


def quotient(units: list[Unit]) -> Unit:
    """Return the difference of the exponents."""
    return product(units, -1)


def number(units: list[Unit]) -> Unit:
    """Refuse everything but numbers."""
    return same([*units, {}])


RULES: dict[str, tuple[int, Callable[[list[Unit]], Unit]]] = {
    **dict.fromkeys(("add", "add_", "sub", "sub_", "__rsub__", "maximum"), (2, same)),
    **dict.fromkeys(("mul", "mul_", "matmul"), (2, product)),
    **dict.fromkeys(("div", "div_"), (2, quotient)),
    "__rdiv__": (2, lambda units: quotient(units[::-1])),
    **dict.fromkeys(("sum", "mean", "neg", "abs", "clone", "view", "__getitem__"), (1, same)),
    **dict.fromkeys(("exp", "log", "sin", "cos"), (1, number)),
}
