"""Tests of k01_saturated: functions whose slopes can be worked out on paper."""

from __future__ import annotations

import torch

from katas.lecture17.conftest import close
from katas.lecture17.conftest import numbers
from katas.lecture17.k01_saturated import credit
from katas.lecture17.k01_saturated import slopes
from plugins.kit import unchanged


def saturated(x: torch.Tensor) -> torch.Tensor:
    """Return the function of the brief."""
    return (1 - torch.relu(1 - x)).sum()


def point(*values: float) -> torch.Tensor:
    """Return a float64 tensor."""
    return torch.tensor(values, dtype=torch.float64)


def test_four_points_between_0_and_2() -> None:
    """Two points are before the bend, where the slope is 1; two are beyond it."""
    yours = slopes(saturated, point(0.0), point(2.0), 4)

    close(yours, [[1.0], [1.0], [0.0], [0.0]], "slopes at 0.25, 0.75, 1.25 and 1.75")


def test_points_are_in_the_middle() -> None:
    """The slope of x ** 2 is 2 x, which shows where you evaluated it."""
    yours = slopes(lambda x: (x * x).sum(), point(1.0), point(5.0), 2)

    close(yours, [[4.0], [8.0]], "x ** 2 from 1 to 5: the middles of both halves are 2 and 4")


def test_the_first_unit_gets_all_the_credit() -> None:
    """At the end of the path the gradient is 0; over the whole path x earns f(2) - f(0)."""
    close(credit(saturated, point(0.0), point(2.0), 4), [1.0], "f(2) - f(0) is 1")
    close(credit(saturated, point(1.0), point(2.0), 4), [0.0], "from 1 to 2 nothing is gained")


def test_each_input_has_its_own_credit() -> None:
    """A product, from (1, 1) to (3, 6): together the inputs get f(x) - f(baseline)."""
    yours = credit(torch.prod, point(1.0, 1.0), point(3.0, 6.0), 3)

    close(yours, [7.0, 10.0], "a slope is the other input's mean: 3.5 * (3 - 1), 2 * (6 - 1)")


def test_any_shape() -> None:
    """The slopes have one more dim, at the front."""
    x, w = numbers(2, 3), numbers(2, 3, seed=1)
    with unchanged(x=x, w=w):
        yours = slopes(lambda z: (w * z).sum(), torch.zeros_like(x), x, 5)
        earned = credit(lambda z: (w * z).sum(), torch.zeros_like(x), x, 5)

    close(yours, w.expand(5, 2, 3), "a linear function has the same slope everywhere: its weights")
    close(earned, w * x, "a linear function: weight times input")
