"""Tests of k05_grad_cam: networks where the answer is a sum, and Captum where it is installed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture17.conftest import captum
from katas.lecture17.conftest import close
from katas.lecture17.conftest import numbers
from katas.lecture17.k05_grad_cam import grad_cam
from katas.lecture17.k05_grad_cam import heat
from plugins.kit import unchanged


X, TARGET = numbers(3, 2, 6, 5), torch.tensor([1, 0, 1])


class Pooled(nn.Module):
    """A convolution, a mean over positions, a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.conv = nn.Conv2d(2, 4, 3)
        self.last = nn.Linear(4, 2)
        self.double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return two logits for each row."""
        y: torch.Tensor = self.last(self.conv(x).mean((2, 3)))
        return y


def deep(*, inplace: bool = False) -> nn.Sequential:
    """Return a network with a ReLU after the layer, and positions with different weights."""
    torch.manual_seed(5)
    return nn.Sequential(
        *(nn.Conv2d(2, 4, 3), nn.ReLU(inplace=inplace), nn.Conv2d(4, 3, 2), nn.Tanh()),
        *(nn.Flatten(), nn.Linear(18, 2)),
    ).double()


def by_halves(model: nn.Sequential, cut: int) -> Any:
    """Return the cam of the layer before `cut`: run the model in two halves, without hooks."""
    maps = model[:cut](X).detach().clone().requires_grad_()
    model[cut:](maps.clone())[torch.arange(3), TARGET].sum().backward()
    assert maps.grad is not None
    return (maps.grad.mean((2, 3), keepdim=True) * maps.detach()).sum(1)


def test_the_cam_of_a_pooled_model() -> None:
    """The weight of a map is its weight in the last layer, divided by the number of positions."""
    model = Pooled()
    yours = grad_cam(model, model.conv, X, TARGET)
    maps = model.conv(X).detach()
    expected = torch.einsum("rk,rkij->rij", model.last.weight.detach()[TARGET], maps) / 12

    close(yours, expected, "conv, mean, linear: sum of last.weight[class] * maps / places")
    assert not yours.requires_grad, "your result has a graph"


def test_the_cam_sums_to_the_logit() -> None:
    """Completeness: for a pooled model, everything except the bias of the class."""
    model = Pooled()
    yours = grad_cam(model, model.conv, X, TARGET).sum((1, 2))
    logits = model(X)[torch.arange(3), TARGET] - model.last.bias[TARGET]

    close(yours, logits.detach(), "the sum over all places: the logit without its bias")


def test_any_network() -> None:
    """The gradient is averaged over positions before it is multiplied by the maps."""
    model = deep()
    for cut in (1, 2, 3):
        yours = grad_cam(model, model[cut - 1], X, TARGET)
        close(yours, by_halves(model, cut), f"layer {cut - 1}, {type(model[cut - 1]).__name__}")


def test_a_relu_that_writes_to_the_maps() -> None:
    """The maps are the layer's own, before the in-place ReLU."""
    model = deep(inplace=True)
    yours = grad_cam(model, model[0], X, TARGET)

    close(yours, by_halves(deep(), 1), "the maps, and their gradient, before nn.ReLU(inplace=True)")


def test_a_frozen_model() -> None:
    """No parameter requires a gradient, and x does not either."""
    model = deep().requires_grad_(requires_grad=False)
    with torch.no_grad():
        yours = grad_cam(model, model[0], X, TARGET)

    close(yours, by_halves(deep(), 1), "a frozen model, under torch.no_grad()")
    assert not yours.requires_grad, "your result has a graph"


def test_nothing_stays() -> None:
    """No .grad and no hook stay, and no mode changes, even if the model raises."""
    model, calls = deep(), list[Any]()
    with unchanged(model, x=X, target=TARGET):
        grad_cam(model, model[0], X, TARGET)
    layer: Any = model[0]
    original = layer.register_forward_hook

    def counted(hook: Any) -> Any:
        handle = original(hook)
        calls.append(handle)
        return handle

    layer.register_forward_hook = counted
    with pytest.raises(RuntimeError, match="size"):
        grad_cam(model, layer, X[..., :3], TARGET)
    left = [handle for handle in calls if handle.id in (handle.hooks_dict_ref() or {})]
    assert not left, "the model raised, but the hook is still on the layer"


def test_heat() -> None:
    """Enlarged 2 x 2: negative positions are 0, and the largest is 1."""
    cam = torch.tensor([[[4.0, -8.0], [0.0, 0.0]]]).double()
    yours = heat(cam, (4, 4))
    row = [1.0, 0.75, 0.25, 0.0]
    expected = torch.tensor([row, row, row, row]) * torch.tensor([1, 0.75, 0.25, 0])[:, None]

    close(yours, expected.double()[None], "4 and -8 above zeros, enlarged to 4 x 4")


def test_heat_of_each_image() -> None:
    """Each image has its own maximum; where nothing is positive, all is 0 and nothing NaN."""
    cams = torch.stack([numbers(3, 4), numbers(3, 4) * 1e-20, -numbers(3, 4).abs()])
    with unchanged(cams=cams):
        yours = heat(cams, (9, 8))

    close(yours.amax((1, 2)), [1.0, 1.0, 0.0], "the maximum of each of three images")
    close(yours[1], yours[0], "a map that is 1e-20 times another looks the same", 1e-9)
    assert yours.min() >= 0, f"the smallest value is {yours.min()}, expected 0 or more"


@pytest.mark.backend("captum")
def test_captum_agrees() -> None:
    """LayerGradCam, which keeps the sign too."""
    model = deep()
    for layer in (0, 1, 2):
        method = captum("attr.LayerGradCam", model, model[layer])
        expected = method.attribute(X, TARGET)[:, 0].detach()
        close(grad_cam(model, model[layer], X, TARGET), expected, f"Captum's, of layer {layer}")
