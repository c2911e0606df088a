"""Tests of k10_scaler: torch.amp.GradScaler takes the same steps."""

from __future__ import annotations

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture07.k10_scaler import Scaler


INF, NAN = float("inf"), float("nan")


class Pair:
    """Your scaler and PyTorch's, each with its own parameters and optimizer."""

    def __init__(self, scale: float = 8.0, interval: int = 2) -> None:
        self.yours = Scaler(scale, interval)
        self.theirs = torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=interval)
        self.parameters = [
            [torch.nn.Parameter(torch.tensor([2.0, 3.0]).sqrt()) for _ in range(3)]
            for _ in range(2)
        ]
        # Two groups, and a parameter that never has a gradient.
        self.optimizers = [
            torch.optim.SGD([{"params": [a, c]}, {"params": [b], "lr": 0.5}], lr=0.1, momentum=0.9)
            for a, b, c in self.parameters
        ]

    def backward(self, slope: float) -> None:
        """Set the gradients to (1, slope) and 1."""
        losses = [(a * torch.tensor([1.0, slope])).sum() + b.sum() for a, b, _ in self.parameters]
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        self.yours.scaled(losses[0]).backward()
        self.theirs.scale(losses[1]).backward()

    def step(self) -> None:
        """Step, update and compare."""
        __tracebackhide__ = True
        self.yours.step(self.optimizers[0])
        self.theirs.step(self.optimizers[1])
        self.yours.update()
        self.theirs.update()
        self.compare()

    def compare(self) -> None:
        """Compare the scales, the parameters and their gradients."""
        __tracebackhide__ = True
        yours, theirs = self.yours.scale, self.theirs.get_scale()
        assert yours == theirs, f"scale: yours {yours}, PyTorch's {theirs}"
        for mine, right in zip(*self.parameters, strict=True):
            says = "a parameter: yours is not PyTorch's\n".__add__
            torch.testing.assert_close(mine, right, equal_nan=True, msg=says)
            assert (mine.grad is None) == (right.grad is None), (
                "a parameter has a .grad with your scaler or with PyTorch's, but not with both"
            )
            if right.grad is not None:
                says = "a gradient after the step: yours is not PyTorch's\n".__add__
                torch.testing.assert_close(mine.grad, right.grad, equal_nan=True, msg=says)


def test_a_good_step() -> None:
    """The parameters are updated with the unscaled gradients."""
    pair = Pair()
    pair.backward(1.0)
    pair.step()


def test_good_steps_make_it_grow() -> None:
    """The scale grows after two good steps, and again after two more."""
    pair = Pair()
    for _ in range(5):
        pair.backward(0.25)
        pair.step()


@pytest.mark.parametrize("bad", [INF, -INF, NAN])
def test_a_bad_step_is_skipped(bad: float) -> None:
    """No parameter moves, not even those with finite gradients, and the scale is halved."""
    pair = Pair()
    pair.backward(bad)
    pair.step()


def test_good_steps_must_follow_one_another() -> None:
    """After a good, a bad and a good step nothing has grown, and steps are taken again."""
    pair = Pair()
    for slope in (1.0, INF, 1.0, 1.0, 1.0):
        pair.backward(slope)
        pair.step()


def test_unscaled_before_the_step() -> None:
    """To clip gradients, unscale first; the step does not divide them again."""
    pair = Pair()
    for _ in range(2):
        pair.backward(3.0)
        pair.yours.unscale(pair.optimizers[0])
        pair.theirs.unscale_(pair.optimizers[1])
        for parameters in pair.parameters:
            torch.nn.utils.clip_grad_norm_(parameters, 0.5)
        pair.yours.unscale(pair.optimizers[0])
        pair.step()


def test_gradients_are_divided_in_place() -> None:
    """Anyone who holds a gradient, such as a DDP bucket, sees the result."""
    pair = Pair()
    pair.backward(1.0)
    grad = pair.parameters[0][0].grad
    pair.yours.unscale(pair.optimizers[0])
    assert pair.parameters[0][0].grad is grad, (
        ".grad is now a different tensor: divide the gradient in place"
    )
    assert grad.tolist() == [1.0, 1.0], f"yours {grad.tolist()}, expected [1.0, 1.0]"


def test_it_does_nothing_until_the_update() -> None:
    """A second `unscale` divides nothing, even after the step."""
    pair = Pair()
    pair.backward(3.0)
    pair.yours.step(pair.optimizers[0])
    pair.yours.unscale(pair.optimizers[0])
    grad = pair.parameters[0][0].grad
    assert grad.tolist() == [1.0, 3.0], (
        f"after `step` and `unscale`: yours {grad.tolist()}, expected [1.0, 3.0]: divide only once"
    )


def test_what_was_noted_counts() -> None:
    """Clearing the gradients after unscaling does not bring the skipped step back."""
    pair = Pair()
    pair.backward(INF)
    pair.yours.unscale(pair.optimizers[0])
    pair.theirs.unscale_(pair.optimizers[1])
    for a, _, _ in pair.parameters:
        a.grad.zero_()
    pair.step()


def test_large_gradients_are_finite() -> None:
    """Each gradient is below the largest float, although their sum is not."""
    pair = Pair(scale=1.0)
    pair.backward(1.0)
    for a, _, _ in pair.parameters:
        a.grad.fill_(3e38)
    pair.step()


@example([1.0, 1.0, INF, 1.0, INF, INF, NAN, 1.0, 1.0, 1.0], 2)
@given(st.lists(st.sampled_from([1.0, 1.0, 0.5, INF, NAN]), max_size=9), st.integers(1, 3))
def test_any_training(slopes: list[float], interval: int) -> None:
    """With momentum, a skipped step must leave the optimizer's state alone."""
    pair = Pair(interval=interval)
    for slope in slopes:
        pair.backward(slope)
        pair.step()


def test_scales_as_text() -> None:
    """The scales of eight steps, of which the fourth and seventh are bad, are as expected."""
    pair = Pair()
    lines = []
    for step in range(8):
        pair.backward(INF if step in {3, 6} else 1.0)
        pair.yours.step(pair.optimizers[0])
        pair.yours.update()
        first = pair.parameters[0][0][0].item()
        lines.append(f"{step} scale {pair.yours.scale:g}, parameter {first:.6f}")

    assert_expected_inline(
        "\n".join(lines),
        """\
0 scale 8, parameter 1.314214
1 scale 16, parameter 1.124213
2 scale 16, parameter 0.853213
3 scale 8, parameter 0.853213
4 scale 8, parameter 0.509313
5 scale 16, parameter 0.099803
6 scale 8, parameter 0.099803
7 scale 8, parameter -0.368756""",
    )
