"""Tests of k09_formulas: compared with PyTorch's warning about its loop, and with dual numbers."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch.autograd import forward_ad

from katas.lecture11.k09_formulas import OPERATORS
from katas.lecture11.k09_formulas import has_rule
from katas.lecture11.k09_formulas import jvp_works
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


AT = torch.tensor([1, 3])
# Not in the exercise, so that a table of names does not contain them.
OTHERS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "flip": lambda x: x.flip(0),
    "pad": lambda x: torch.nn.functional.pad(x.reshape(1, 4), (1, 1), mode="reflect"),
    "logdet": lambda x: torch.logdet(x.reshape(2, 2).exp()),
    "argmax": lambda x: x.argmax(),
    "take": lambda x: x.take(AT),
    "renorm": lambda x: torch.renorm(x.reshape(2, 2), 2, 0, 0.5),
    "masked_scatter": lambda x: x.masked_scatter(x > 0.5, x * 2),
    "zeta": lambda x: torch.special.zeta(x + 2, x),
    "histogram": lambda x: torch.histogram(x, 4)[0],
}
ALL = {**OPERATORS, **OTHERS}
# The forward mode of some operators is scripted.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")


def numbers() -> torch.Tensor:
    """Return irrational float64 numbers between 0 and 1, shape (4,)."""
    return torch.tensor([2.0, 5.0, 3.0, 7.0], dtype=torch.float64).sqrt() / 3


def falls_back(function: Callable[..., Any], x: torch.Tensor) -> bool:
    """Whether PyTorch warns about its loop."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.func.vmap(function)(torch.stack([x, x]))
    return any("implemented the batching rule" in str(each.message) for each in caught)


def takes_duals(function: Callable[..., Any], x: torch.Tensor) -> bool:
    """Whether the operator accepts a dual tensor."""
    with forward_ad.dual_level():
        try:
            function(forward_ad.make_dual(x, torch.ones_like(x)))
        except NotImplementedError as error:
            if "forward" not in str(error):
                raise
            return False
    return True


@pytest.mark.parametrize("name", ALL)
def test_jvp(name: str) -> None:
    """A second call of `jvp_works` gives the same answer, and x is unchanged."""
    x = numbers()
    with unchanged(x=x):
        yours = [jvp_works(ALL[name], x), jvp_works(ALL[name], x)]
    expected = takes_duals(ALL[name], x)
    assert yours == [expected] * 2, (
        f"{name}: yours {yours}, expected {expected} twice: a dual tensor passes through, or"
        " PyTorch reports that there is no formula; look at torch.func.jvp"
    )


@pytest.mark.parametrize("name", ALL)
def test_the_rule(name: str) -> None:
    """A second call of `has_rule` gives the same answer, without a warning, and x is unchanged."""
    x = numbers()
    with unchanged(x=x), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yours = [has_rule(ALL[name], x), has_rule(ALL[name], x)]
    expected = not falls_back(ALL[name], x)
    assert yours == [expected] * 2, (
        f"{name}: yours {yours}, expected {expected} twice: PyTorch "
        f"{'does not warn' if expected else 'warns'} of its loop; count for a few rows, and for "
        "more"
    )
    assert not caught, (
        f"{name}: your function warns, {caught[0].message}: use `count`, which hides warnings"
    )


def test_four_combinations() -> None:
    """An operator can have a formula, a rule, both or neither."""
    x = numbers()
    yours = {(jvp_works(each, x), has_rule(each, x)) for each in OPERATORS.values()}
    assert len(yours) == 4, f"yours has (jvp works, rule) {sorted(yours)}, expected all four"


def test_one_operator_without_a_rule_is_enough() -> None:
    """A function has a loop if and only if one of its operators has one."""

    def many(row: torch.Tensor) -> torch.Tensor:
        for _ in range(200):
            row = row.sin()
        return row

    x = numbers()
    yours = has_rule(lambda row: torch.histc(row.sin(), 4).cumsum(0) * 2, x)
    assert yours is False, f"yours {yours}, expected False: histc in the middle runs in a loop"
    yours = has_rule(many, x)
    assert yours is True, f"yours {yours}, expected True: 200 sines, for any number of rows"


def test_other_errors_are_not_yours() -> None:
    """A bug in the function must raise from both of your functions."""

    def wrong_value(x: torch.Tensor) -> torch.Tensor:
        raise ValueError(f"cannot do {tuple(x.shape)}")

    def wrong_shape(x: torch.Tensor) -> torch.Tensor:
        return x + x[:3]

    for yours in (jvp_works, has_rule):
        for function, kind in ((wrong_value, ValueError), (wrong_shape, RuntimeError)):
            try:
                answer = yours(function, numbers())
            except kind as error:
                if not isinstance(error, NotImplementedError):
                    continue
                raise
            raise AssertionError(
                f"{yours.__name__}: yours answers {answer} for a function that raises a "
                f"{kind.__name__}; expected that error: it is a bug, not a missing formula"
            )


def test_matrices_have_rows_too() -> None:
    """A row may be a matrix, and have a different dtype."""
    x = torch.arange(6, dtype=torch.float32).sqrt().reshape(2, 3)
    function = OTHERS["take"]
    yours = [jvp_works(function, x), has_rule(function, x), has_rule(torch.linalg.pinv, x)]
    expected = [takes_duals(function, x), not falls_back(function, x)]
    expected += [not falls_back(torch.linalg.pinv, x)]
    assert yours == expected, f"yours {yours}, expected {expected}"
