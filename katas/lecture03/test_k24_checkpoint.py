"""Tests of k24_checkpoint: values, gradients, random numbers, and saved tensors."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import pytest
import torch
import torch.utils.checkpoint
from torch import nn
from torch.autograd import gradcheck
from torch.autograd import gradgradcheck
from torch.autograd.gradcheck import GradcheckError
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture03 import k24_checkpoint as kata
from katas.lecture03.k24_checkpoint import checkpoint
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


def chain(x: torch.Tensor) -> torch.Tensor:
    """Return a value whose plain graph saves a tensor at every step."""
    for _ in range(5):
        x = x.sin().exp()
    return x


def leaf(*sizes: int, device: str = "cpu") -> torch.Tensor:
    """Return a float64 leaf that requires grad."""
    return torch.rand(sizes, dtype=torch.float64, device=device, requires_grad=True)


def backward(result: torch.Tensor, **settings: bool) -> None:
    """Run backward from the sum of a result."""
    try:
        result.sum().backward(**settings)
    except LookupError as error:
        error.add_note(
            "Backward asked for a tensor that forward packed, but your code did not find it: the"
            " second run gives each tensor the number that forward gave it, and a tensor stays"
            " until it has been asked for."
        )
        raise


def test_the_value_is_that_of_the_function(device: str) -> None:
    """The value is one tensor, with a graph if the input requires grad."""
    x = leaf(3, device=device)
    result = checkpoint(chain, x)

    torch.testing.assert_close(
        result, chain(x), msg="yours differs from the function's value\n".__add__
    )
    assert result.requires_grad, "x requires grad, but your result has no graph"
    assert not checkpoint(chain, x.detach()).requires_grad, (
        "x requires no grad, but your result does"
    )
    with torch.no_grad():
        assert not checkpoint(chain, x).requires_grad, (
            "under no_grad there must be no graph, but your result has one"
        )


def test_the_gradient_is_that_of_the_function(device: str) -> None:
    """Pass two inputs, one of them not a leaf, and a third that requires no grad."""
    x, y, z = leaf(3, device=device), leaf(3, device=device), leaf(3, device=device).detach()

    def function(x: torch.Tensor, z: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return chain(x * z) * y

    backward(checkpoint(function, x, z, y * 2) * 3)
    expected = torch.autograd.grad((function(x, z, y * 2) * 3).sum(), (x, y))
    for name, yours, theirs in [("x", x.grad, expected[0]), ("y", y.grad, expected[1])]:
        says = f"the gradient by {name}: yours is not that of the plain function\n".__add__
        torch.testing.assert_close(yours, theirs, msg=says)
    assert z.grad is None, "z requires no grad, but your code gave it a gradient"
    assert not z.requires_grad, "your code made z require grad, but z belongs to the caller"


class Made(TorchDispatchMode):
    """Records the float64 tensors that operators create, copies too."""

    def __init__(self) -> None:
        super().__init__()
        self.storages: set[StorageWeakRef] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Record the results."""
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.dtype == torch.float64:
            self.storages.add(StorageWeakRef(result.untyped_storage()))
        return result


def alive_after(call: Callable[[Callable, torch.Tensor], torch.Tensor]) -> int:
    """Return how many tensors a graph of ten steps keeps alive, besides result and input."""

    def function(x: torch.Tensor) -> torch.Tensor:
        for _ in range(10):
            x = x.exp()
        return x * 2

    x = leaf(3)
    with Made() as made:
        result = call(function, x)
    known = [StorageWeakRef(each.untyped_storage()) for each in (x, result)]
    count = sum(not each.expired() and each not in known for each in made.storages)
    assert result.requires_grad, "the result must have a graph"
    return count


def test_nothing_made_within_is_kept() -> None:
    """Ten steps save ten results; a checkpoint keeps only numbers."""
    plain = alive_after(lambda function, x: function(x))
    yours = alive_after(checkpoint)

    assert plain == 10, f"the plain graph keeps {plain} of 10 results"
    assert yours == 0, (
        f"between forward and backward, {yours} of the 10 tensors, or copies, are alive: drop them"
    )


def test_the_function_runs_again_when_backward_asks() -> None:
    """The function runs once for all saved tensors, not once for each, and with grad mode on."""
    calls = []

    def function(x: torch.Tensor) -> torch.Tensor:
        calls.append(torch.is_grad_enabled())
        return chain(x)

    result = checkpoint(function, leaf(3))
    assert [True] == calls, f"after forward, grad mode in each call: yours {calls}, expected [True]"
    backward(result)

    assert [True, True] == calls, (
        f"after backward, grad mode in each call: yours {calls}, expected [True, True]"
    )


def test_other_arguments_are_handed_on() -> None:
    """Pass numbers and strings before, between and after the tensors, in both runs."""
    seen = []
    tensors = []

    def function(power: int, x: torch.Tensor, name: str, y: torch.Tensor, last: None) -> object:
        seen.append((power, name, last))
        tensors.extend([x, y])
        return x**power * y

    x, y = leaf(3), leaf(3)
    backward(checkpoint(function, 3, x, "name", y, None))

    assert [(3, "name", None)] * 2 == seen, f"forward and backward: your function got {seen}"
    theirs = [each is expected for each, expected in zip(tensors, [x, y] * 2, strict=True)]
    assert theirs == [True] * 4, (
        f"x and y must be passed unchanged, in forward and backward; yours {theirs}"
    )
    for yours, theirs in [(x.grad, 3 * x**2 * y), (y.grad, x**3)]:
        says = "x**3 * y: yours is not the gradient\n".__add__
        torch.testing.assert_close(yours, theirs.detach(), msg=says)


def test_parameters_get_their_gradients(device: str) -> None:
    """Parameters are not passed to the function, but they are in the new graph."""
    layer = nn.Linear(3, 2).to(device)
    x = torch.rand(4, 3, device=device, requires_grad=True)
    expected = torch.autograd.grad(layer(x).square().sum(), (layer.weight, layer.bias, x))
    backward(checkpoint(lambda x: layer(x).square(), x))

    for tensor, grad in zip((layer.weight, layer.bias, x), expected, strict=True):
        assert tensor.grad is not None, (
            "parameters are leaves of the graph, but one got no gradient"
        )
        says = "a layer within: yours is not the gradient of the plain function\n".__add__
        torch.testing.assert_close(tensor.grad, grad, msg=says)
    (by_x,) = torch.autograd.grad(checkpoint(lambda x: layer(x).square(), x).sum(), x)
    says = "torch.autograd.grad: yours is not the gradient of the plain function\n".__add__
    torch.testing.assert_close(by_x, expected[2], msg=says)


def test_dropout_drops_the_same_elements_again() -> None:
    """Where the value is 0 the gradient is 0, even if random numbers were drawn in between."""
    x = torch.ones(1000, requires_grad=True)
    torch.rand(7)
    result = checkpoint(lambda x: nn.functional.dropout(x, 0.5), x)
    torch.rand(17)
    backward(result)

    wrong = int((x.grad != result.detach()).sum())
    assert wrong == 0, f"your code drops {wrong} of 1000 elements differently the second time"


def test_the_random_state_survives_an_error() -> None:
    """The state is restored even if the function raises the second time."""
    calls = []

    def function(x: torch.Tensor) -> torch.Tensor:
        calls.append(x)
        torch.rand(3)
        if len(calls) == 2:
            raise ValueError("the second time")
        return x.sin()

    result = checkpoint(function, leaf(3))
    torch.rand(5)
    before = torch.get_rng_state()
    with pytest.raises(ValueError, match="the second time"):
        result.sum().backward()

    assert torch.equal(before, torch.get_rng_state()), "your code leaves the random state changed"


def test_the_value_draws_from_the_state_as_it_is() -> None:
    """Forward draws the same numbers as without a checkpoint."""
    x = torch.ones(100, requires_grad=True)
    state = torch.get_rng_state()
    expected = nn.functional.dropout(x, 0.5)
    torch.set_rng_state(state)

    yours = checkpoint(lambda x: nn.functional.dropout(x, 0.5), x)
    assert torch.equal(expected, yours), (
        "your code draws different numbers in forward than the plain function"
    )


def test_checkpoints_nest() -> None:
    """A checkpoint may contain another, with dropout at both depths."""
    x = torch.ones(500, requires_grad=True)

    def inner(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(x, 0.3)

    def outer(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(checkpoint(inner, x), 0.3)

    result = checkpoint(outer, x)
    backward(result)

    assert torch.equal(x.grad, result.detach()), (
        "nested: your code drops different elements the second time"
    )


def test_a_retained_graph_runs_twice() -> None:
    """Both times the gradients are the same, not doubled."""
    x = torch.ones(100, requires_grad=True)
    calls = []

    def function(x: torch.Tensor) -> torch.Tensor:
        calls.append("call")
        return nn.functional.dropout(x, 0.5)

    result = checkpoint(function, x)
    backward(result, retain_graph=True)
    first = x.grad.clone()
    x.grad = None
    backward(result)

    assert torch.equal(first, x.grad), (
        f"expected equal gradients: yours {first[:5]} first, then {x.grad[:5]}"
    )
    assert 3 == len(calls), (
        f"forward, and again in each backward: expected 3 calls, yours {len(calls)}. Drop "
        "a tensor once it is used"
    )


class Bystander:
    """An object that lives as long as the node that holds it."""


def test_backward_lets_go() -> None:
    """Backward frees the inputs and the second run's graph, although the result lives."""
    x = leaf(3) * 1
    result = checkpoint(chain, x)
    alive = weakref.ref(x)
    backward(result)
    del x
    assert alive() is None, "backward has run, but your code still keeps the input alive"
    assert result.requires_grad, "the result must still be alive"
    # A backward to only y leaves what x needs.
    seen: list[weakref.ref[Bystander]] = []

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        unused = x.exp()
        bystander = Bystander()
        unused.grad_fn.metadata["bystander"] = bystander
        seen.append(weakref.ref(bystander))
        return unused + y.exp()

    x, y = leaf(3), leaf(3)
    result = checkpoint(function, x, y)
    torch.autograd.grad(result.sum(), y, retain_graph=True)

    assert 2 == len(seen), f"the function ran {len(seen)} times, expected 2"
    assert seen[1]() is None, "your code collects tensors with their graph: keep them detached"
    assert result.requires_grad, "the result must still be alive"


def test_nothing_ready_made_is_called() -> None:
    """The kata rebuilds PyTorch's checkpoint, so it must not call it."""
    with forbids(kata, "torch.utils.checkpoint", "torch.distributed") as fresh:
        x = leaf(3)
        backward(fresh.checkpoint(chain, x))


@pytest.mark.given
def test_pytorch_recommends_another_way() -> None:
    """A reentrant checkpoint refuses `torch.autograd.grad`; the other kind supports it."""
    layer, x = nn.Linear(3, 2), torch.rand(4, 3, requires_grad=True)
    result = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="incompatible with"):
        torch.autograd.grad(result.sum(), x)
    result = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)
    torch.autograd.grad(result.sum(), x)

    assert layer.weight.grad is None, "torch.autograd.grad writes no .grad"


def test_forward_and_backward_leave_all_else_alone() -> None:
    """Leave inputs, result, incoming gradient and global state alone, even with dropout."""
    x, y = leaf(2, 3), leaf(2, 3) * 1
    grad = leaf(2, 3).detach()

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(x * y, 0.5)

    with unchanged(x=x, y=y, but=("torch.get_rng_state()",)):
        result = checkpoint(function, x, y)
    with unchanged(x=x, y=y, result=result, grad=grad):
        torch.autograd.grad(result, (x, y), grad, retain_graph=True)
        torch.autograd.grad(result, (x, y), grad)


def test_gradients_agree_with_differences() -> None:
    """First and second gradients are right: autograd attaches its history to unpacked tensors."""

    def through(x: torch.Tensor) -> torch.Tensor:
        return checkpoint(lambda x, y: chain(x) * y.cos(), x, x * 2)

    x = leaf(2, 2)
    try:
        gradcheck(through, x)
        gradgradcheck(through, x)
    except GradcheckError as error:
        raise AssertionError(f"yours (analytical) disagrees with differences\n{error}") from None
