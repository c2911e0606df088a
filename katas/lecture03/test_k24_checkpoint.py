"""Tests of k24_checkpoint: values, gradients, random numbers, and what is saved."""

from __future__ import annotations

import weakref

import pytest
import torch
import torch.utils.checkpoint
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.autograd import gradcheck
from torch.autograd.graph import saved_tensors_hooks

from katas.lecture03 import k24_checkpoint as kata
from katas.lecture03.k24_checkpoint import checkpoint
from plugins.kit import forbids
from plugins.kit import unchanged


def chain(x: torch.Tensor) -> torch.Tensor:
    """Return a value whose plain graph saves a tensor at every step."""
    for _ in range(5):
        x = x.sin().exp()
    return x


def leaf(*sizes: int, device: str = "cpu") -> torch.Tensor:
    """Return a float64 leaf that requires grad."""
    return torch.rand(sizes, dtype=torch.float64, device=device, requires_grad=True)


def test_the_value_is_that_of_the_function(device: str) -> None:
    """One tensor, with a graph if the input requires grad."""
    x = leaf(3, device=device)
    result = checkpoint(chain, x)

    torch.testing.assert_close(result, chain(x))
    assert result.requires_grad
    assert not checkpoint(chain, x.detach()).requires_grad
    with torch.no_grad():
        assert not checkpoint(chain, x).requires_grad


def test_the_gradient_is_that_of_the_function(device: str) -> None:
    """For two inputs, one of which is no leaf, and a third that requires no grad."""
    x, y, z = leaf(3, device=device), leaf(3, device=device), leaf(3, device=device).detach()

    def function(x: torch.Tensor, z: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return chain(x * z) * y

    (checkpoint(function, x, z, y * 2) * 3).sum().backward()
    expected = torch.autograd.grad((function(x, z, y * 2) * 3).sum(), (x, y))
    torch.testing.assert_close(x.grad, expected[0])
    torch.testing.assert_close(y.grad, expected[1])
    assert z.grad is None
    assert not z.requires_grad, "the caller's tensors stay as they are"


def test_only_the_inputs_are_saved() -> None:
    """Ten steps save ten tensors; a checkpoint saves its input."""
    saved: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor.detach())
        return tensor.detach()

    x = leaf(100)
    with saved_tensors_hooks(pack, lambda tensor: tensor):
        result = checkpoint(chain, x)
    places = [tensor.data_ptr() for tensor in saved]

    assert [x.data_ptr()] == places, f"saved in forward: {len(saved)} tensors; x alone will do"
    result.sum().backward()


def test_forward_and_backward_run_the_function_once_each() -> None:
    """And backward not before it is asked for; grad mode is off in the first, on in the second."""
    calls = []

    def function(x: torch.Tensor) -> torch.Tensor:
        calls.append((torch.is_grad_enabled(), x.requires_grad))
        return x.sin()

    x = leaf(3)
    result = checkpoint(function, x)
    assert 1 == len(calls)
    assert not calls[0][0], "no graph in forward"
    result.sum().backward()

    assert [(True, True)] == calls[1:], "once more, with grad mode on"


def test_other_arguments_are_handed_on() -> None:
    """Numbers and strings, before, between and behind the tensors, twice."""
    seen = []

    def function(power: int, x: torch.Tensor, name: str, y: torch.Tensor, last: None) -> object:
        seen.append((power, name, last))
        return x**power * y

    x, y = leaf(3), leaf(3)
    checkpoint(function, 3, x, "name", y, None).sum().backward()

    assert [(3, "name", None)] * 2 == seen
    torch.testing.assert_close(x.grad, (3 * x**2 * y).detach())
    torch.testing.assert_close(y.grad, (x**3).detach())


def test_parameters_get_their_gradients(device: str) -> None:
    """Though they are not handed to the function: they are in the new graph."""
    layer = nn.Linear(3, 2).to(device)
    x = torch.rand(4, 3, device=device, requires_grad=True)
    expected = torch.autograd.grad(layer(x).square().sum(), (layer.weight, layer.bias, x))
    checkpoint(lambda x: layer(x).square(), x).sum().backward()

    for tensor, grad in zip((layer.weight, layer.bias, x), expected, strict=True):
        assert tensor.grad is not None, "a backward accumulates into the leaves that it meets"
        torch.testing.assert_close(tensor.grad, grad)


def test_dropout_drops_the_same_elements_again() -> None:
    """Where the value is 0 the gradient is 0, though random numbers were drawn in between."""
    x = torch.ones(1000, requires_grad=True)
    result = checkpoint(lambda x: nn.functional.dropout(x, 0.5), x)
    torch.rand(17)
    result.sum().backward()

    assert torch.equal(x.grad, result.detach()), "the gradient of dropout is its mask, scaled"


def test_backward_leaves_the_random_state_alone() -> None:
    """Numbers drawn after it are those that would be drawn without it."""
    x = torch.ones(10, requires_grad=True)
    result = checkpoint(lambda x: nn.functional.dropout(x, 0.5), x)
    torch.rand(5)
    before = torch.get_rng_state()
    result.sum().backward()

    assert torch.equal(before, torch.get_rng_state()), "put the random state back"


def test_the_random_state_survives_an_error() -> None:
    """Also if the function raises the second time."""
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

    assert torch.equal(before, torch.get_rng_state()), "put it back in any case"


def test_the_value_draws_from_the_state_as_it_is() -> None:
    """Forward is not special: the same numbers as without a checkpoint."""
    x = torch.ones(100, requires_grad=True)
    state = torch.get_rng_state()
    expected = nn.functional.dropout(x, 0.5)
    torch.set_rng_state(state)

    assert torch.equal(expected, checkpoint(lambda x: nn.functional.dropout(x, 0.5), x))


def test_checkpoints_nest() -> None:
    """With dropout at two depths."""
    x = torch.ones(500, requires_grad=True)

    def inner(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(x, 0.3)

    def outer(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(checkpoint(inner, x), 0.3)

    result = checkpoint(outer, x)
    result.sum().backward()

    assert torch.equal(x.grad, result.detach())


def test_a_retained_graph_runs_twice() -> None:
    """With the same numbers both times, not twice as large ones."""
    x = torch.ones(100, requires_grad=True)
    result = checkpoint(lambda x: nn.functional.dropout(x, 0.5), x)
    result.sum().backward(retain_graph=True)
    first = x.grad.clone()
    x.grad = None
    result.sum().backward()

    assert torch.equal(first, x.grad)


def test_a_changed_input_is_noticed() -> None:
    """A second run on other values would give a wrong gradient: versions are compared."""
    x = leaf(3) * 1
    result = checkpoint(chain, x)
    x.detach().add_(1)
    try:
        result.sum().backward()
    except RuntimeError as error:
        message = str(error)
    else:
        message = "no error"

    assert "modified by an inplace operation" in message, "save inputs by ctx.save_for_backward"


def test_backward_lets_go_of_the_inputs() -> None:
    """What save_for_backward keeps is freed by backward; what is on ctx stays with the result."""
    x = leaf(3) * 1
    result = checkpoint(chain, x)
    alive = weakref.ref(x)
    result.sum().backward()
    del x

    assert alive() is None, "the graph of the result still owns the input: do not keep it on ctx"


@given(shape=st.lists(st.integers(0, 3), max_size=3), order=st.randoms())
def test_any_layout(shape: list[int], order: object) -> None:
    """Permuted, empty and without dims: the gradients of the plain function."""
    dims = list(range(len(shape)))
    order.shuffle(dims)  # type: ignore[attr-defined]
    x = torch.linspace(0, 1, torch.Size(shape).numel(), dtype=torch.float64).reshape(shape)
    x = x.permute(dims).requires_grad_()
    checkpoint(chain, x).sum().backward()
    (expected,) = torch.autograd.grad(chain(x).sum(), x)

    torch.testing.assert_close(x.grad, expected)


def test_nothing_ready_made_is_called() -> None:
    """PyTorch's checkpoint is what is being written here."""
    with forbids(kata, "torch.utils.checkpoint") as fresh:
        x = leaf(3)
        fresh.checkpoint(chain, x).sum().backward()


@pytest.mark.given
def test_pytorch_recommends_another_way() -> None:
    """Its reentrant checkpoint refuses `torch.autograd.grad`; the other spares parameters in it."""
    layer, x = nn.Linear(3, 2), torch.rand(4, 3, requires_grad=True)
    result = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="incompatible with"):
        torch.autograd.grad(result.sum(), x)
    result = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)
    torch.autograd.grad(result.sum(), x)

    assert layer.weight.grad is None


def test_forward_and_backward_leave_all_else_alone() -> None:
    """Inputs, result, incoming gradient and every state, with dropout in the function."""
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
    """By gradcheck, of a backward into a leaf."""

    def through(x: torch.Tensor) -> torch.Tensor:
        return checkpoint(lambda x, y: chain(x) * y.cos(), x, x * 2)

    assert gradcheck(through, leaf(2, 2))
