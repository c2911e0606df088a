"""Tests of k05_not_learning: each Module takes a step, and so does its formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from katas.lecture05.k05_not_learning import Ensemble
from katas.lecture05.k05_not_learning import Restarted
from katas.lecture05.k05_not_learning import Scaled
from katas.lecture05.k05_not_learning import Tied
from katas.lecture05.k05_not_learning import Tuned
from katas.lecture05.k05_not_learning import resumed
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


X = torch.tensor([[2.0, -3.0, 5.0], [7.0, 0.0, -11.0]]).abs().sqrt()


def learns(model: nn.Module, names: list[str], formula: Callable[..., torch.Tensor]) -> None:
    """Compare parameters, result and gradients with a formula of the parameters, then step."""
    found = dict(model.named_parameters())
    trained = [name for name, x in found.items() if x.requires_grad]
    assert names == trained, f"parameters that learn: yours {trained}, expected {names}"
    twins = [found[name].detach().clone().requires_grad_() for name in names]
    expected = formula(*twins)
    with unchanged(X, model):
        yours = model(X)
    torch.testing.assert_close(
        yours, expected, msg="forward: yours differs from the formula\n".__add__
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    (yours - 1).square().sum().backward()
    grads = torch.autograd.grad((expected - 1).square().sum(), twins)
    for name, grad in zip(names, grads, strict=True):
        says = f"{name}.grad: yours is not that of the formula\n".__add__
        assert found[name].grad is not None, f"{name} gets no gradient"
        torch.testing.assert_close(found[name].grad, grad, msg=says)
    optimizer.step()
    after = formula(*[x - 0.1 * g for x, g in zip(twins, grads, strict=True)])
    says = "after a step of SGD: yours is not the formula with parameters that moved\n".__add__
    torch.testing.assert_close(model(X), after, msg=says)


def test_each_layer_of_the_ensemble_learns() -> None:
    """A plain list hides modules from the Module that holds it."""
    model = Ensemble(3, 2)
    names = [f"layers.{n}.{kind}" for n in range(2) for kind in ("weight", "bias")]

    learns(model, names, lambda a, b, c, d: ((X @ a.t() + b) + (X @ c.t() + d)) / 2)
    assert len([*Ensemble(3, 5).parameters()]) == 10, (
        "the model does not have ten parameters, two for each of five layers"
    )
    assert model(X).shape == (2, 1), (
        f"expected one number for each row; yours has shape {tuple(model(X).shape)}"
    )
    names = [f"layers.{n}.{kind}" for n in range(3) for kind in ("weight", "bias")]

    learns(
        Ensemble(3, 3),
        names,
        lambda a, b, c, d, e, f: ((X @ a.t() + b) + (X @ c.t() + d) + (X @ e.t() + f)) / 3,
    )


def test_the_scale_learns() -> None:
    """A tensor that requires a gradient is not yet a Parameter; the offset stays a constant."""
    model = Scaled(3)

    learns(model, ["scale"], lambda scale: (X + 1) * scale)
    assert [*model.state_dict()] == ["scale", "offset"], (
        f"your state dict has the keys {[*model.state_dict()]}, expected scale, then offset"
    )
    assert torch.equal(model.offset, torch.ones(3)), (
        "the step changed the offset, expected a constant"
    )


def test_both_uses_teach_the_tied_weight() -> None:
    """The gradient is the sum over the uses, and autograd does not see a use through .data."""
    learns(Tied(3, 2), ["weight"], lambda weight: (X @ weight.t()).tanh() @ weight)


def test_the_head_learns_and_the_backbone_does_not() -> None:
    """The backbone is frozen at any depth, but not the layers around it."""
    backbone, head = nn.Linear(3, 3), nn.Linear(3, 1)
    weight, bias = (x.detach().clone() for x in backbone.parameters())
    deep = Tuned(nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 3))), head)
    trained = [name for name, x in deep.named_parameters() if x.requires_grad]
    assert trained == ["head.weight", "head.bias"], (
        f"deep backbone: your model trains {trained}, expected only the head"
    )
    model = Tuned(backbone, head)
    hidden = X @ weight.t() + bias

    learns(model, ["head.weight", "head.bias"], lambda w, b: hidden @ w.t() + b)
    assert torch.equal(backbone.weight, weight), "the step changed the backbone, expected it frozen"
    assert backbone.weight.grad is None, "the backbone got a gradient, which costs time in backward"
    x = X.clone().requires_grad_()
    model(x).sum().backward()
    assert x.grad is not None, "x got no gradient, but layers before the backbone may need one"


def test_an_optimizer_goes_on_after_a_restart() -> None:
    """The optimizer holds the Parameter itself, not its name."""
    model = Restarted(3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    weight = model.weight
    model(X).sum().backward()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([2.0, torch.inf, torch.nan]))
    model.restart()
    assert torch.equal(model.weight.detach(), torch.zeros(3)), (
        f"restart of [2, inf, nan]: your weight is {model.weight.tolist()}, expected zeros; a "
        "diverged run is restarted too, and NaN times 0 is NaN"
    )
    assert model.weight is weight, (
        "restart created a new Parameter, but the optimizer holds the old one"
    )
    optimizer.zero_grad()
    learns(model, ["weight"], lambda weight: X @ weight)
    optimizer.step()
    assert not torch.equal(model.weight.detach(), torch.zeros(3)), (
        "after a step of the old optimizer the weight is still zero"
    )


def test_a_resumed_model_goes_on() -> None:
    """The model uses the state dict's memory, and the returned optimizer trains it."""
    devices = []

    def make() -> nn.Module:
        made = nn.Sequential(nn.Linear(3, 1), nn.BatchNorm1d(1))
        devices.append(made[0].weight.device.type)
        return made

    state = {key: x.clone() for key, x in make().state_dict().items()}
    values = {key: x.clone() for key, x in state.items()}
    devices.clear()
    model, optimizer = resumed(make, state)
    assert devices == ["meta"], (
        f"expected one model, made on meta; your function made models on {devices}"
    )
    for key, x in model.state_dict().items():
        assert x.device.type == "cpu", f"{key} is on {x.device}, expected cpu"
        assert x.data_ptr() == state[key].data_ptr(), (
            f"{key} is a copy, expected it to share memory with `state`"
        )
        torch.testing.assert_close(x, values[key], msg=f"{key}: other values\n".__add__)
    model(X).sum(1).exp().sum().backward()
    optimizer.step()

    for key, x in model.named_parameters():
        assert x.grad is not None, f"{key} gets no gradient"
        says = f"after a step: {key} has not moved, the optimizer holds another one\n".__add__
        torch.testing.assert_close(x.detach(), values[key] - 0.1 * x.grad, msg=says)


def test_all_can_be_converted_and_saved() -> None:
    """Registered tensors are converted with the Module."""
    for model in (Ensemble(3, 2), Scaled(3), Tied(3, 2), Restarted(3)):
        try:
            double = model.double()(X.double())
        except RuntimeError as error:
            raise AssertionError(f"{type(model).__name__} in float64: {error}") from None
        assert double.dtype == torch.float64, (
            f"{type(model).__name__} in float64 returns {double.dtype}"
        )
        count = sum(x.numel() for x in model.state_dict().values())
        assert count >= 3, f"{type(model).__name__} saves {count} numbers, expected 3 or more"
