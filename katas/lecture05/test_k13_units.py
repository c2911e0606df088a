"""Tests of k13_units: PyTorch gives the values, physics the units."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture05.k13_units import Quantity
from katas.lecture05.k13_units import UnitError
from katas.lecture05.k13_units import quantity
from katas.lecture05.k13_units import unit_of
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


class Special(Quantity):
    """A subclass of Quantity."""


def metres(*values: float) -> Quantity:
    """Return a distance."""
    return quantity(torch.tensor(values, dtype=torch.float64), m=1)


def seconds(*values: float) -> Quantity:
    """Return a time."""
    return quantity(torch.tensor(values, dtype=torch.float64), s=1)


def check(yours: object, value: torch.Tensor, unit: dict | None, what: str) -> None:
    """Compare the value with PyTorch's, and the unit with the expected one."""
    assert isinstance(yours, Quantity), f"{what}: yours is a {type(yours).__name__}"
    assert unit == yours.unit, f"{what}: your unit is {yours.unit}, expected {unit}"
    plain = yours.as_subclass(torch.Tensor)
    torch.testing.assert_close(plain, value, msg=f"{what}: yours differs from PyTorch's\n".__add__)


def plain(x: torch.Tensor) -> torch.Tensor:
    """Return the tensor without a unit."""
    return x.as_subclass(torch.Tensor)


def test_units_of_operands() -> None:
    """A Quantity has its own unit, as has a subclass; for a number or a plain tensor it is {}."""
    special = metres(1.0).as_subclass(Special)
    special.unit = {"m": 1}
    found = [unit_of(each) for each in (metres(1.0), special, 2, 2.5, torch.ones(2))]
    expected = [{"m": 1}, {"m": 1}, {}, {}, {}]

    assert expected == found, f"yours {found}, expected {expected}"


def test_a_product() -> None:
    """Exponents are added, by operator, function and method; those that cancel are dropped."""
    way, time = metres(6.0, 8.0), seconds(2.0, 5.0)
    value = plain(way) * plain(time)
    for what, yours in (
        ("way * time", way * time),
        ("torch.mul", torch.mul(way, time)),
        (".mul", way.mul(time)),
    ):
        check(yours, value, {"m": 1, "s": 1}, what)
    check(way @ time, plain(way) @ plain(time), {"m": 1, "s": 1}, "way @ time")
    check(2 * way, 2 * plain(way), {"m": 1}, "2 * way")
    check(way * way, plain(way) ** 2, {"m": 2}, "way * way")


def test_a_quotient() -> None:
    """Exponents are subtracted, even if the number is on the left."""
    way, time = metres(6.0, 8.0), seconds(2.0, 5.0)
    check(way / time, plain(way) / plain(time), {"m": 1, "s": -1}, "way / time")
    check(way / way, plain(way) / plain(way), {}, "way / way")
    check(1 / time, 1 / plain(time), {"s": -1}, "1 / time")
    check(plain(way) / time, plain(way) / plain(time), {"s": -1}, "a plain tensor / time")
    check(way / 2, plain(way) / 2, {"m": 1}, "way / 2")


@pytest.mark.parametrize("name", ["add", "sub", "maximum"])
def test_a_sum_wants_one_unit(name: str) -> None:
    """If both units are equal, the sum has that unit."""
    way, other = metres(6.0, 8.0), metres(1.0, 9.0)
    value = getattr(torch, name)(plain(way), plain(other))
    check(getattr(torch, name)(way, other), value, {"m": 1}, f"torch.{name}")
    for wrong in (seconds(1.0, 2.0), torch.ones(2, dtype=torch.float64)):
        for pair in ((way, wrong), (wrong, way)):
            with pytest.raises(UnitError):
                getattr(torch, name)(*pair)


def test_a_number_has_no_metres() -> None:
    """Adding a number to metres fails on either side; a unitless quantity accepts one."""
    way = metres(6.0, 8.0)
    for what, program in {
        "way + 1": lambda: way + 1,
        "1 + way": lambda: 1 + way,
        "1 - way": lambda: 1 - way,
        "exp(way)": way.exp,
    }.items():
        refused = False
        try:
            program()
        except UnitError:
            refused = True
        assert refused, f"{what}: your code added a number to metres, expected a UnitError"
    ratio = way / metres(2.0, 2.0)
    check(1 - ratio, 1 - plain(ratio), {}, "1 - way / way")
    check(ratio.exp(), plain(ratio).exp(), {}, "exp(way / way)")


def test_arguments_by_name() -> None:
    """The arguments input and other are operands too; alpha and dim are not."""
    way, other = metres(6.0, 8.0), metres(1.0, 9.0)
    check(torch.mul(input=way, other=other), plain(way) * plain(other), {"m": 2}, "both by name")
    check(torch.add(way, other=other), plain(way) + plain(other), {"m": 1}, "one by name")
    check(torch.sum(input=way), plain(way).sum(), {"m": 1}, "input of sum by name")
    time = seconds(2.0, 5.0)
    ratio = plain(way) / plain(time)
    check(torch.div(other=time, input=way), ratio, {"m": 1, "s": -1}, "other before input")
    check(torch.sub(way, other, alpha=2), plain(way) - 2 * plain(other), {"m": 1}, "alpha=2")
    with pytest.raises(UnitError):
        torch.add(input=way, other=seconds(1.0, 2.0))


def test_functions_of_one() -> None:
    """What follows the first operand is not an operand, but a dim, an index or a shape."""
    way = metres(6.0, 8.0, -1.0)
    programs: dict[str, Callable] = {
        "sum": lambda x: x.sum(0),
        "mean": lambda x: x.mean(dim=0, keepdim=True),
        "getitem": lambda x: x[1],
        "view": lambda x: x.view(3, 1),
        "neg": operator.neg,
        "abs": abs,
        "clone": torch.clone,
    }
    for name, program in programs.items():
        check(program(way), program(plain(way)), {"m": 1}, name)


@pytest.mark.parametrize("operand", ["time", "plain"])
def test_a_refusal_writes_nothing(operand: str) -> None:
    """The rule runs before PyTorch: for an in-place operator, a late error would leave the sum."""
    way = metres(6.0, 8.0)
    other = seconds(1.0, 2.0) if operand == "time" else torch.ones(2, dtype=torch.float64)
    for name in ("add_", "sub_"):
        with unchanged(way=way, other=other), pytest.raises(UnitError):
            getattr(way, name)(other)
    assert way.unit == {"m": 1}, (
        f"the unit after a refused operation: yours {way.unit}, expected the old unit"
    )
    out = torch.zeros(2, dtype=torch.float64)
    with unchanged(way=way, other=other, out=out), pytest.raises(UnitError):
        torch.add(way, other, out=out)


def test_in_place() -> None:
    """The tensor that is written to gets the new unit, and is the result; operands keep theirs."""
    way, time = metres(6.0, 8.0), seconds(2.0, 5.0)
    value = plain(way) * plain(time)
    result = way.mul_(time)

    assert result is way, "mul_ did not return the tensor that it wrote to"
    check(way, value, {"m": 1, "s": 1}, "way.mul_(time)")
    assert time.unit == {"s": 1}, (
        f"the other operand: your unit is {time.unit}, expected {{'s': 1}}"
    )


def test_what_is_not_known() -> None:
    """A function without a rule gives no unit, and results computed from that have none either."""
    way = metres(6.0, 8.0)
    root = way.sqrt()
    check(root, plain(way).sqrt(), None, "way.sqrt()")
    check(root * way, plain(root) * plain(way), None, "way.sqrt() * way")
    assert way.unit == {"m": 1}, f"way itself: your unit is {way.unit}, expected {{'m': 1}}"


def test_questions_are_answered() -> None:
    """Attributes and functions such as shape, len and backward arrive the same way."""
    way = metres(6.0, 8.0)
    assert (tuple(way.shape), len(way), way.tolist()) == ((2,), 2, [6.0, 8.0]), (
        "shape, len and tolist, expected (2,), 2 and [6.0, 8.0]"
    )
    assert "8." in repr(way), f"repr: yours {way!r}, expected the values in it"
    leaf = metres(6.0, 8.0).requires_grad_()
    leaf.mul(3).sum().backward()
    assert leaf.grad.tolist() == [3.0, 3.0], f"the gradient: yours {leaf.grad}, expected 3 and 3"
