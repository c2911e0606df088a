"""Tests of k08_wrong_graph: gradcheck compares your derivatives with finite differences."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch.autograd import gradcheck
from torch.autograd import gradgradcheck

from katas.lecture11.k08_wrong_graph import Cube
from katas.lecture11.k08_wrong_graph import Gain
from katas.lecture11.k08_wrong_graph import Tanh
from katas.lecture11.k08_wrong_graph import adapted
from katas.lecture11.k08_wrong_graph import capped
from katas.lecture11.k08_wrong_graph import scaled
from plugins.kit import freed
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


# Where to look, without saying what is wrong there.
RULES = {
    "scaled": "move the largest element alone: by how much do the others move?",
    "capped": "move an element for which the cap holds, then one below it: does the result move?",
    "adapted": "print grad_fn of each tensor that the step is made of",
    "Cube": "the first derivative is right: which values in its backward know where they are from?",
    "Tanh": "follow the references from the result, object by object: who holds whom?",
    "Gain": "what does the second call find that the first one left?",
}


def point(*shape: int) -> torch.Tensor:
    """Return irrational float64 numbers, both signs, that require gradients."""
    count = torch.Size(shape or (4,)).numel()
    values = torch.arange(2, count + 2, dtype=torch.float64).sqrt() - 1.7
    return values.reshape(shape or (4,)).requires_grad_()


def gained(log: torch.Tensor) -> torch.Tensor:
    """Return a Gain with this logarithm, applied to three numbers."""
    return Gain(log)(torch.tensor([2.0, 3.0, -5.0], dtype=torch.float64).unsqueeze(1))


CUBE: Callable[..., Any] = Cube.apply
TANH: Callable[..., Any] = Tanh.apply
PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "scaled": (scaled, lambda x: x / x.max()),
    "capped": (capped, lambda x: torch.where(x < 0, x.exp(), 1.0)),
    "adapted": (adapted, lambda x: x - 0.1 * (x.cos() * x + x.sin())),
    "Cube": (CUBE, lambda x: x * x * x),
    "Tanh": (TANH, lambda x: (x.exp() - (-x).exp()) / (x.exp() + (-x).exp())),
    "Gain": (gained, lambda x: x.exp() * x.new_tensor([[2.0], [3.0], [-5.0]])),
}


def derivative(name: str, check: Any, which: str, **options: bool) -> None:
    """Compare with finite differences, by gradcheck or gradgradcheck."""
    x = point()
    with unchanged(x=x, but=["torch.get_rng_state()"]):
        try:
            check(PROGRAMS[name][0], x, **options)
        except RuntimeError as error:
            said = "\n".join(f"  {line}" for line in str(error).splitlines()[:10])
        else:
            return
    raise AssertionError(
        f"{name}: yours has a wrong {which} derivative; {RULES[name]}\n"
        f"yours is called analytical here; expected: finite differences, called numerical\n{said}"
    )


@pytest.mark.given
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_value(name: str) -> None:
    """The value is right from the start and must stay right, twice in a row, with x unchanged."""
    function, formula = PROGRAMS[name]
    x = point()
    with unchanged(x=x):
        for yours in (function(x), function(x)):
            says = f"{name}: yours has another value than the formula: mend the graph alone\n"
            torch.testing.assert_close(yours, formula(x), rtol=1e-12, atol=1e-14, msg=says.__add__)


@pytest.mark.parametrize("name", ["scaled", "capped"])
def test_forward_and_reverse(name: str) -> None:
    """The first derivative is right with jvp and with vjp."""
    derivative(name, gradcheck, "first", check_forward_ad=True)


@pytest.mark.parametrize("name", ["scaled", "capped"])
def test_of_a_batch(name: str) -> None:
    """Under vmap each row gets the result that it has alone."""
    function, formula = PROGRAMS[name]
    rows = point(3, 2, 2).detach()
    try:
        yours = torch.func.vmap(function)(rows)
    except RuntimeError as error:
        raise AssertionError(f"{name} under vmap: {RULES[name]}\n{error}") from None
    expected = torch.stack([formula(row) for row in rows])
    assert torch.allclose(yours, expected), f"{name}: yours {yours}, expected {expected}"


def test_through_a_step() -> None:
    """The first and the second derivative of a step are right."""
    derivative("adapted", gradcheck, "first")
    derivative("adapted", gradgradcheck, "second")


def test_the_second_derivative_of_a_cube() -> None:
    """The slope depends on x; the first derivative stays right."""
    derivative("Cube", gradgradcheck, "second")
    derivative("Cube", gradcheck, "first")


def test_a_write_to_what_is_saved() -> None:
    """If PyTorch keeps the saved tensor, it notices that it was overwritten."""
    for name in ("Cube", "Tanh"):
        for what in ("input", "result"):
            x = point()
            copy = x * 1.0
            y = PROGRAMS[name][0](copy)
            kind = type(y.grad_fn).__name__
            assert kind == f"{name}Backward", (
                f"{name}: your result has the graph of {kind}; fix the Function itself"
            )
            total = y.sum()
            (copy if what == "input" else y.detach()).mul_(2.0)
            try:
                total.backward()
            except RuntimeError as error:
                if "modified by an inplace operation" not in str(error):
                    raise
            else:
                assert x.grad is not None, f"{name}: yours has no gradient"
                slope = 3 * x**2 if name == "Cube" else 1 - x.tanh() ** 2
                right = torch.allclose(x.grad, slope)
                assert right, (
                    f"{name}: the {what} was overwritten; yours is {x.grad.tolist()}, expected an "
                    "error: PyTorch checks a tensor for later writes only if it saved it. Read"
                    " save_for_backward"
                )


def test_the_graph_of_a_tanh_dies() -> None:
    """The graph is freed with the last reference to the result, without the garbage collector."""
    try:
        freed(lambda: TANH(point()))
    except AssertionError as error:
        raise AssertionError(f"Tanh: yours stays alive: {error}\n{RULES['Tanh']}") from None
    derivative("Tanh", gradgradcheck, "second")
    derivative("Tanh", gradcheck, "first")


def test_a_gain_is_trained() -> None:
    """Each call has its own graph, with or without an optimizer's step before it."""
    log = point(1)
    gain = Gain(log)
    x = torch.tensor([2.0, 3.0], dtype=torch.float64)
    # The optimizer's step comes after the second call.
    for call in (1, 2, 3):
        y = gain(x)
        expected = (x * log.exp()).detach()
        log.grad = None
        try:
            y.sum().backward()
        except RuntimeError as error:
            raise AssertionError(f"Gain, call {call}: {error}\n{RULES['Gain']}") from None
        right = torch.allclose(y, expected)
        assert right, f"Gain, call {call}: yours {y.tolist()}, expected {expected.tolist()}"
        gradient = log.grad
        says = f"Gain, call {call}: yours has the gradient {gradient}, expected {expected.sum()}"
        assert gradient is not None, says
        assert torch.allclose(gradient, expected.sum()), says
        if call == 2:
            with torch.no_grad():
                log -= 0.1
    values = vars(gain).items()
    kept = [key for key, each in values if isinstance(each, torch.Tensor) and each.grad_fn]
    assert not kept, (
        f"Gain: your object keeps {kept} after a call, expected nothing\n{RULES['Gain']}"
    )


def test_a_gain_under_grad_and_jvp() -> None:
    """A Gain first called under a transform still works without one."""
    gain = Gain(point(1).detach())
    x = torch.tensor([2.0, 3.0], dtype=torch.float64)

    def loss(log: torch.Tensor) -> torch.Tensor:
        gain.log = log
        return gain(x).sum()

    log = gain.log
    expected = (x.sum() * log.exp()).item()
    for name in ("grad", "jvp", "neither"):
        if name == "grad":
            yours = torch.func.grad(loss)(log)
        elif name == "jvp":
            yours = torch.func.jvp(loss, (log,), (torch.ones_like(log),))[1]
        else:
            yours = loss(log)
        right = torch.allclose(yours, torch.tensor(expected, dtype=torch.float64))
        assert right, f"Gain, {name}: yours {yours}, expected {expected}\n{RULES['Gain']}"
