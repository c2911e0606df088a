"""Tests of k26_leaks: weak references show what is still alive, with the garbage collector off."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import TYPE_CHECKING

import pytest
import torch
from torch.autograd import gradcheck
from torch.autograd import gradgradcheck
from torch.autograd.gradcheck import GradcheckError
from torch.autograd.graph import saved_tensors_hooks

from katas.lecture03.k26_leaks import Exp
from katas.lecture03.k26_leaks import Meter
from katas.lecture03.k26_leaks import Running
from katas.lecture03.k26_leaks import direction
from katas.lecture03.k26_leaks import penalty
from katas.lecture03.k26_leaks import watch
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator


class Bystander:
    """An object that lives as long as the node that holds it."""


def bystander(tensor: torch.Tensor) -> weakref.ref[Bystander]:
    """Return a weak reference that lives as long as the node of `tensor`."""
    assert tensor.grad_fn is not None, (
        "your code returns a tensor without a history: no gradient can flow from there"
    )
    held = Bystander()
    tensor.grad_fn.metadata["bystander"] = held
    return weakref.ref(held)


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    """Switch the garbage collector off: reference counting must suffice."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def x() -> torch.Tensor:
    """Return a leaf of three numbers."""
    return torch.tensor([0.5, -1.0, 2.0], requires_grad=True)


@pytest.mark.given
def test_a_graph_dies_with_its_last_owner(x: torch.Tensor) -> None:
    """Reference counting frees a graph at once; a later tensor owns the graph before it."""
    y = x.exp()
    alive = bystander(y)
    z = y.sum()
    del y
    assert alive() is not None, "the graph of z owns the node of y"
    del z
    assert alive() is None


class Forgetful(torch.autograd.Function):
    """Keeps its result on ctx."""

    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:  # noqa: ANN001
        """Return exp(x)."""
        ctx.result = x.exp()
        return ctx.result


def kept_on_ctx() -> torch.Tensor:
    """Make a cycle of a result and its own node."""
    return Forgetful.apply(torch.ones(2, requires_grad=True))


def kept_by_a_hook() -> torch.Tensor:
    """Make a cycle of a result and a hook on it."""
    y = torch.ones(2, requires_grad=True) * 2
    y.register_hook(lambda _: y.norm())
    return y


def kept_by_pack() -> torch.Tensor:
    """Make a cycle of a result and the object that pack returns."""
    with saved_tensors_hooks(lambda tensor: [tensor], lambda kept: kept[0]):
        return torch.ones(2, requires_grad=True).exp()


def kept_by_grad() -> torch.Tensor:
    """Make a cycle of a leaf and its gradient's graph."""
    leaf = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        leaf.square().sum().backward(create_graph=True)
    return leaf


@pytest.mark.given
@pytest.mark.parametrize(
    ("make", "is_found"),
    [(kept_on_ctx, True), (kept_by_a_hook, False), (kept_by_pack, False), (kept_by_grad, False)],
)
def test_some_circles_are_found_by_the_collector(
    make: Callable[[], torch.Tensor],
    is_found: bool,  # noqa: FBT001
) -> None:
    """Reference counting frees no such cycle, and the collector does not see what C++ owns."""
    y = make()
    alive = weakref.ref(y)
    del y
    assert alive() is not None
    gc.collect()

    assert (alive() is None) is is_found


def test_a_meter_keeps_numbers_only(x: torch.Tensor) -> None:
    """The sum is right and requires no grad, and the loss can still be used."""
    meter = Meter()
    loss = x.square().sum()
    alive = bystander(loss)
    with unchanged(x=x, loss=loss):
        meter.add(loss)
        meter.add(loss)
    says = "two losses of 5.25: yours is not 10.5\n".__add__
    torch.testing.assert_close(meter.total, torch.tensor(10.5), msg=says)
    loss.backward()
    says = "the loss after yours has seen it: another gradient\n".__add__
    torch.testing.assert_close(x.grad, 2 * x.detach(), msg=says)
    del loss

    assert alive() is None, "the meter owns the graph of every loss it has seen"
    assert not meter.total.requires_grad, "your total requires grad"
    before = meter.total
    meter.add(torch.tensor(1 / 3, dtype=torch.float64))
    assert before.item() == 10.5, (
        f"a total that was read before was 10.5 and is now {before.item()}: your code adds in place"
    )
    yours = meter.total.double().item()
    assert yours == 10.5 + 1 / 3, (
        f"10.5 and a float64 loss of 1/3: yours is {yours!r}, expected {10.5 + 1 / 3!r}. A sum of"
        " two tensors has the wider dtype; with a Python number it keeps the tensor's"
    )


def test_a_state_leaves_its_history_behind(x: torch.Tensor) -> None:
    """The value is carried on, but not the graph of the last step."""
    running = Running(x)
    ones = torch.ones(3, requires_grad=True)
    with unchanged(x=x, ones=ones):
        first = running.step(ones)
    value = first.detach().clone()
    alive = bystander(first)
    (gradient,) = torch.autograd.grad(first.sum(), ones)
    torch.testing.assert_close(gradient, 1 - value.square(), msg="a gradient within the step")
    del first
    assert alive() is None, "the state that is carried over owns the graph of its step"
    with unchanged(x=x, ones=ones):
        second = running.step(2 * ones)
    says = "the second state: yours is not tanh(state * weight + x)\n".__add__
    torch.testing.assert_close(second, torch.tanh(value * x + 2), msg=says)
    (gradient,) = torch.autograd.grad(second.sum(), x)
    says = "the gradient of the second step alone: yours is another\n".__add__
    torch.testing.assert_close(gradient, (1 - second.detach().square()) * value, msg=says)


def test_a_hook_does_not_own_its_tensor(x: torch.Tensor) -> None:
    """The hook records the ratio for each gradient, and dies with the tensor, immediately."""
    log: list[float] = []
    y = x * 2
    alive, tensor = bystander(y), weakref.ref(y)
    watch(y, log)
    assert [] == log, f"no gradient has arrived, but your code recorded {log}"
    with unchanged(x=x, y=y, but=("grad",)):
        (y * 3).sum().backward(retain_graph=True)
    (y * 6).sum().backward()
    ratio = 3 * 3**0.5 / float((2 * x.detach()).norm())
    assert log == pytest.approx([ratio, 2 * ratio]), (
        f"your code recorded {log}, expected {[ratio, 2 * ratio]}"
    )
    del y

    assert tensor() is None, "the tensor owns the hook, and your hook's closure owns the tensor"
    assert alive() is None, "the node of the tensor is still alive"


def test_a_watched_tensor_is_measured_when_watched(x: torch.Tensor) -> None:
    """Take the norm in `watch`: a step may change the tensor before the gradient arrives."""
    log: list[float] = []
    watch(x, log)
    norm = float(x.detach().norm())
    loss = x.sum()
    with torch.no_grad():
        x.mul_(10)
    loss.backward()
    zero, ratios = torch.zeros(2, requires_grad=True), []
    watch(zero, ratios)
    zero.sum().backward()

    assert ratios == [torch.inf], (
        f"divided by a norm of 0, PyTorch's ratio is inf, yours is {ratios}"
    )
    assert log == pytest.approx([3**0.5 / norm]), (
        f"yours {log}, expected {3**0.5 / norm}: the norm that the tensor had when watched"
    )


def test_a_result_is_saved_as_a_result(x: torch.Tensor) -> None:
    """The node of Exp dies with its result, whether backward has run or not."""
    y = Exp.apply(x)
    alive = bystander(y)
    torch.testing.assert_close(y, x.exp(), msg="yours differs from exp\n".__add__)
    del y
    assert alive() is None, "your ctx owns the result, which owns the node, which is ctx"
    double = x.detach().double().requires_grad_()
    try:
        gradcheck(Exp.apply, double)
        gradgradcheck(Exp.apply, double)
    except GradcheckError as error:
        raise AssertionError(f"yours (analytical) disagrees with differences\n{error}") from None


def test_a_saved_result_may_not_be_overwritten(x: torch.Tensor) -> None:
    """A saved tensor is protected by its version; an attribute is not, and gives wrong numbers."""
    y = Exp.apply(x)
    y.detach().mul_(2)
    try:
        y.sum().backward()
    except RuntimeError as error:
        message = str(error)
    else:
        message = "no error"

    assert "modified by an inplace operation" in message, (
        f"the result was written to, but your backward runs ({message}). save_for_backward would "
        "notice"
    )


def test_a_penalty_makes_no_circle(device: str) -> None:
    """The parameters die with their last owner, even after a backward through the penalty."""
    one = torch.tensor([2.0], device=device, requires_grad=True)
    other = torch.tensor([5.0], device=device, requires_grad=True)
    one.grad = torch.tensor([7.0], device=device)
    loss = (one**2 * other).sum()
    node = bystander(loss)
    with warnings.catch_warnings(), unchanged(one=one, other=other, loss=loss):
        warnings.simplefilter("ignore")
        result = penalty(loss, [one, other])
    # The gradients are 2 one other = 20 and one² = 4.
    assert 20.0**2 + 4.0**2 == float(result.detach()), f"yours {result}, expected 20**2 + 4**2"
    assert [7.0] == one.grad.tolist(), "your code wrote to .grad"
    assert other.grad is None, "your code wrote to .grad"
    (gradient,) = torch.autograd.grad(result, other, retain_graph=True)
    assert [2 * 20.0 * 4.0] == gradient.tolist(), (
        f"expected 160 as the gradient of penalty, yours is {gradient}"
    )
    try:
        torch.autograd.grad(loss, other, retain_graph=True)
    except RuntimeError as error:
        raise AssertionError(f"your code leaves the caller's graph unusable: {error}") from error
    alive = weakref.ref(one)
    del loss, result, one, other, gradient

    assert alive() is None, "p.grad has a graph, and the graph owns p"
    assert node() is None, "the node of the loss is still alive"


class Box:
    """An object that the graph holds instead of a tensor."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


def test_a_kept_loss_keeps_nothing_else(x: torch.Tensor) -> None:
    """The direction is minus the gradient; saved tensors are freed on the way."""
    boxes: list[weakref.ref[Box]] = []

    def pack(tensor: torch.Tensor) -> Box:
        box = Box(tensor.detach())
        boxes.append(weakref.ref(box))
        return box

    y = torch.ones(3, requires_grad=True)
    y.grad = torch.full((3,), 7.0)
    with saved_tensors_hooks(pack, lambda box: box.tensor):
        loss = (x.exp() * y.sin()).sum()
    assert all(box() is not None for box in boxes)
    with unchanged(x=x, y=y, loss=loss):
        moves = direction(loss, [x, y])

    assert isinstance(moves, list), f"yours is a {type(moves).__name__}, expected a list"
    for name, move, grad in [
        ("x", moves[0], x.exp() * y.sin()),
        ("y", moves[1], x.exp() * y.cos()),
    ]:
        says = f"the direction of {name}: yours is not minus the gradient\n".__add__
        torch.testing.assert_close(move, -grad.detach(), msg=says)
    left = sum(box() is not None for box in boxes)
    assert 0 == left, f"{left} of {len(boxes)} saved tensors are left, but nothing needs them"
