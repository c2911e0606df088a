"""Tests of k18_step: the optimizer's step after backward is the oracle."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef

from katas.lecture03.k18_step import step_in_backward


def model_and_data(device: str) -> tuple[nn.Module, torch.Tensor]:
    """Return a small model with two layers and a batch."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).to(device)
    return model, torch.randn(5, 3, device=device)


def test_parameters_step_in_backward(device: str) -> None:
    """The result is that of torch.optim.SGD after backward, written in place."""
    model, batch = model_and_data(device)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    grads = torch.autograd.grad(model(batch).square().mean(), list(model.parameters()))
    places = [parameter.data_ptr() for parameter in model.parameters()]
    step_in_backward(model.parameters(), 0.5)
    model(batch).square().mean().backward()

    for parameter, old, grad in zip(model.parameters(), before, grads, strict=True):
        says = "after backward: yours is not old - rate * grad\n".__add__
        torch.testing.assert_close(parameter.detach(), old - 0.5 * grad, msg=says)
    now = [parameter.data_ptr() for parameter in model.parameters()]
    assert places == now, "the parameters are new tensors: step in place"
    for p in model.parameters():
        assert p.is_leaf, "the parameter is no longer a leaf: your code recorded the step"
        assert p.requires_grad, "your code switched requires_grad off"


def test_gradients_are_freed_one_by_one(device: str) -> None:
    """When a later gradient is accumulated, the earlier ones are already freed."""
    model, batch = model_and_data(device)
    made: list[StorageWeakRef] = []
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(
            lambda p: made.append(StorageWeakRef(p.grad.untyped_storage()))
        )
    step_in_backward(model.parameters(), 0.5)
    alive = []
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(
            lambda _: alive.append(sum(p.grad is not None for p in model.parameters()))
        )
    model(batch).sum().backward()

    assert [0, 0, 0, 0] == alive, (
        f"gradients alive after each step: yours {alive}, expected 0 each time; plain training has "
        "[1, 2, 3, 4]"
    )
    kept = sum(not each.expired() for each in made)
    assert 0 == kept, f"your code keeps {kept} of {len(made)} gradients elsewhere: drop them"


def test_a_gradient_of_several_uses_is_stepped_once() -> None:
    """A parameter steps once, not once per use: a post-accumulate hook sees the sum."""
    weight = torch.tensor([1.0], requires_grad=True)
    log = step_in_backward([weight], 0.25)
    (weight * 2 + weight * 3).backward()
    assert [1 - 0.25 * 5] == weight.tolist(), (
        f"expected a single step by 2 + 3; yours {weight.tolist()}"
    )
    log.remove()
    (weight * 2).backward()

    assert [1 - 0.25 * 5] == weight.tolist(), (
        f"the hooks are removed, but the weight is {weight.tolist()}: expected no step"
    )
    assert [2.0] == weight.grad.tolist(), (
        f"the hooks are removed, so .grad must stay; yours is {weight.grad}"
    )


def test_each_backward_is_a_step() -> None:
    """The second backward steps too; removing the log removes the hooks from every parameter."""
    weights = [torch.tensor([1.0], requires_grad=True) for _ in range(3)]
    log = step_in_backward(weights, 0.25)
    for _ in range(2):
        sum(weights).backward()
    yours = [weight.item() for weight in weights]
    assert [0.5] * 3 == yours, (
        f"expected two steps of 0.25 for two backwards; your weights are {yours}"
    )
    log.remove()
    sum(weights).backward()

    yours = [weight.item() for weight in weights]
    assert [0.5] * 3 == yours, f"the hooks are removed, so no weight may change; yours are {yours}"


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph")
def test_steps_are_not_recorded() -> None:
    """Steps are not recorded even if backward is, which leaves grad mode on in its hooks."""
    weight = torch.tensor([1.0], requires_grad=True)
    step_in_backward([weight], 0.25)
    try:
        weight.square().sum().backward(create_graph=True)
    except RuntimeError as error:
        raise AssertionError(f"with create_graph=True: {error}") from error

    assert [1 - 0.25 * 2] == weight.tolist(), f"yours {weight.tolist()}, expected [0.5]"
    assert weight.is_leaf, "the weight is no longer a leaf: your code recorded the step"
