"""Tests of k07_functional: an optimizer on a copy, and finite differences, are the oracle."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn

from katas.lecture05.k07_functional import adapted
from katas.lecture05.k07_functional import meta_gradients
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


X = torch.tensor([[2.0, 3.0], [5.0, -7.0], [0.0, 11.0]], dtype=torch.float64).abs().sqrt()
CLOSE = {"rtol": 1e-10, "atol": 1e-12}


class Tied(nn.Module):
    """Uses one weight under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 2)
        self.second.weight = self.first.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the second layer applied to the first."""
        return self.second(self.first(x).tanh())


def mlp() -> nn.Module:
    """Return a small network."""
    return nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2))


def normed() -> nn.Module:
    """Return a network with a BatchNorm, which writes to its buffers in each call."""
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))


def frozen() -> nn.Module:
    """Return a network whose first layer does not learn."""
    model = mlp()
    model[0].requires_grad_(requires_grad=False)
    return model


MODELS = {"mlp": mlp, "tied": Tied, "frozen": frozen, "normed": normed}


def made(name: str) -> nn.Module:
    """Return one of the models in float64."""
    torch.manual_seed(0)
    return MODELS[name]().double()


def loss(call: Callable[..., torch.Tensor]) -> torch.Tensor:
    """Return how far the model is from reproducing its input."""
    return (call(X) - X).square().mean()


def other(call: Callable[..., torch.Tensor]) -> torch.Tensor:
    """Return a loss that calls the model twice."""
    return (call(X) * call(-X)).mean() + call(X[:2]).square().mean()


def stepped(model: nn.Module, what: Callable, steps: int, lr: float) -> nn.Module:
    """Return a copy of the model after steps of torch.optim.SGD."""
    twin = copy.deepcopy(model)
    optimizer = torch.optim.SGD([x for x in twin.parameters() if x.requires_grad], lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        what(twin).backward()
        optimizer.step()
    return twin


def compare(yours: dict[str, torch.Tensor], twin: nn.Module, why: str) -> None:
    """Compare your tensors with a model's learning parameters and buffers."""
    expected = {name: x for name, x in twin.named_parameters() if x.requires_grad}
    expected |= dict(twin.named_buffers())
    assert {*expected} == {*yours}, f"yours {sorted(yours)}\nexpected {sorted(expected)}\n{why}"
    for name, x in expected.items():
        says = f"{name}: yours is not that of SGD: {why}\n".__add__
        torch.testing.assert_close(yours[name].detach(), x.detach(), **CLOSE, msg=says)


def test_no_step() -> None:
    """Without a step the parameters are the model's own."""
    model = made("mlp")
    yours = adapted(model, loss, 0, 0.1)

    compare(yours, model, "without a step they are those of the model")
    for name, x in model.named_parameters():
        assert yours[name] is x, (
            f"{name}: yours is a new tensor, expected the model's own Parameter"
        )


def test_one_step() -> None:
    """The step is that of SGD with the given learning rate."""
    model = made("mlp")
    for lr in (0.1, 0.5):
        compare(adapted(model, loss, 1, lr), stepped(model, loss, 1, lr), f"one step, lr={lr}")


@pytest.mark.parametrize("name", MODELS)
def test_some_steps(name: str) -> None:
    """Each step starts where the last one ended; frozen parameters are not in the result."""
    model = made(name)
    expected = stepped(model, other, 3, 0.2)

    compare(adapted(model, other, 3, 0.2), expected, f"{name}: three steps")


@pytest.mark.parametrize("name", MODELS)
def test_the_model_stays_as_it_was(name: str) -> None:
    """Values, gradients and BatchNorm statistics stay: each call writes to copies."""
    model = made(name)
    loss(model).backward()
    with unchanged(model, X):
        yours = adapted(model, loss, 2, 0.1)
    kept = {key: x.detach().clone() for key, x in yours.items()}
    with unchanged(model, yours):
        adapted(model, other, 1, 0.1)
        meta_gradients(model, [(loss, other)], 0.1)
    for key, x in kept.items():
        assert torch.equal(x, yours[key].detach()), f"{key}: a later call wrote to earlier results"
    begun = adapted(model, loss, 0, 0.1)
    for key, x in model.named_buffers():
        assert begun[key] is not x, f"{key}, no step: yours is the model's buffer, expected a copy"


def test_a_loss_that_fails() -> None:
    """The loss's error reaches the caller, and the model is unchanged."""
    model = made("normed")

    def fails(call: Callable[..., torch.Tensor]) -> torch.Tensor:
        call(X)
        raise KeyError("loss")

    with unchanged(model), pytest.raises(KeyError, match="loss"):
        adapted(model, fails, 1, 0.1)


def numerically(
    model: nn.Module, tasks: list, lr: float, steps: int = 1
) -> dict[str, torch.Tensor]:
    """Return the gradients of the mean loss after steps of SGD, by central differences."""
    grads, h = {}, 1e-6
    for name, x in model.named_parameters():
        if not x.requires_grad:
            continue
        grads[name] = torch.zeros_like(x)
        for index in range(x.numel()):
            values = []
            for sign in (1, -1):
                twin = copy.deepcopy(model)
                dict(twin.named_parameters())[name].data.view(-1)[index] += sign * h
                ends = [second(stepped(twin, first, steps, lr)) for first, second in tasks]
                values.append(sum(ends).item() / len(tasks))
            grads[name].view(-1)[index] = (values[0] - values[1]) / (2 * h)
    return grads


@pytest.mark.parametrize("steps", [1, 3])
def test_the_graph_goes_back_through_all_steps(steps: int) -> None:
    """The graph leads to the starting point, and through the gradient of each step."""
    model = made("mlp")
    tensors = adapted(model, loss, steps, 0.3)
    end = other(lambda *args: torch.func.functional_call(model, tensors, args))
    grads = torch.autograd.grad(end, [*model.parameters()])
    expected = numerically(model, [(loss, other)], 0.3, steps)
    for (key, grad), yours in zip(expected.items(), grads, strict=True):
        says = f"{key}, {steps} steps: yours is not the difference quotient\n".__add__
        torch.testing.assert_close(yours, grad, rtol=1e-5, atol=1e-7, msg=says)


def test_no_learning() -> None:
    """With lr=0 the results are the gradients of only the second loss."""
    model = made("mlp")
    yours = meta_gradients(model, [(loss, other)], 0.0)
    names = [name for name, _ in model.named_parameters()]
    expected = torch.autograd.grad(other(model), [*model.parameters()])

    assert names == [*yours], f"yours {[*yours]}, expected {names}"
    for name, grad in zip(names, expected, strict=True):
        says = f"{name}, lr=0: yours is not the gradient of the second loss\n".__add__
        torch.testing.assert_close(yours[name], grad, **CLOSE, msg=says)


@pytest.mark.parametrize("name", MODELS)
def test_the_gradient_goes_through_the_step(name: str) -> None:
    """The result agrees with finite differences: the step depends on the starting point."""
    model = made(name)
    tasks = [(loss, other)]
    yours, expected = meta_gradients(model, tasks, 0.3), numerically(model, tasks, 0.3)
    assert [*expected] == [*yours], f"yours {[*yours]}, expected {[*expected]}"
    for key, grad in expected.items():
        says = f"{key}: yours is not the difference quotient; is the step a constant?\n".__add__
        torch.testing.assert_close(yours[key], grad, rtol=1e-5, atol=1e-7, msg=says)


def test_the_mean_over_tasks() -> None:
    """Each task starts from the model's parameters, and has its own losses."""
    model = made("mlp")
    tasks = [(loss, other), (other, loss), (other, other)]
    yours, expected = meta_gradients(model, tasks, 0.3), numerically(model, tasks, 0.3)
    for key, grad in expected.items():
        says = f"{key}, three tasks: yours is not that of their mean\n".__add__
        torch.testing.assert_close(yours[key], grad, rtol=1e-5, atol=1e-7, msg=says)
