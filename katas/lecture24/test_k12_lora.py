"""Tests of k12_lora: the algebra of W + B A, what is trained, and what remains after removal."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture24.k12_lora import LoRA
from katas.lecture24.k12_lora import adapt
from katas.lecture24.k12_lora import apart
from katas.lecture24.k12_lora import remove
from plugins.kit import unchanged


SCALE = 0.7


def numbers(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational float64 values."""
    dice = torch.Generator().manual_seed(seed)
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def layer_of(inputs: int = 5, outputs: int = 3, *, bias: bool = True) -> nn.Linear:
    """Return a layer in float64."""
    layer = nn.Linear(inputs, outputs, bias=bias, dtype=torch.float64)
    with torch.no_grad():
        for seed, each in enumerate(layer.parameters()):
            each.copy_(numbers(*each.shape, seed=seed))
    return layer


def learned(layer: nn.Linear, rank: int = 2) -> LoRA:
    """Adapt a layer, as if B had been trained."""
    lora = adapt(layer, rank, SCALE)
    with torch.no_grad():
        lora.B.copy_(numbers(*lora.B.shape, seed=7))
    return lora


def same(yours: torch.Tensor, right: torch.Tensor, what: str) -> None:
    """Compare to twelve digits."""
    __tracebackhide__ = True
    torch.testing.assert_close(
        yours, right, rtol=1e-12, atol=1e-12, msg=lambda text: f"{what}: {text}"
    )


def test_the_adapted_weight() -> None:
    """The adapted weight is W plus scale times B A."""
    layer = layer_of()
    lora = LoRA(layer, 2, SCALE)
    with torch.no_grad():
        lora.B.copy_(numbers(3, 2, seed=7))
    weight = layer.weight.detach()
    with unchanged(weight=weight, lora=lora):
        yours = lora(weight).detach()
    same(yours, weight + SCALE * (lora.B.detach() @ lora.A.detach()), "LoRA's forward")


def test_nothing_changes_at_first() -> None:
    """The layer returns what it did before, bit for bit."""
    layer, x = layer_of(), numbers(4, 5, seed=3)
    before = layer(x).detach()
    lora = adapt(layer, 2, SCALE)
    assert isinstance(lora, LoRA), f"adapt returns {type(lora).__name__}, expected the LoRA"
    assert (lora.scale, lora.A.shape[0]) == (SCALE, 2), (
        f"your LoRA has scale {lora.scale} and rank {lora.A.shape[0]}, expected {SCALE} and 2"
    )
    assert layer.parametrizations.weight[0] is lora, (
        "`adapt` returned an object that is not the layer's LoRA: return the one you registered"
    )
    equal = torch.equal(layer(x).detach(), before)
    assert equal, "B is 0, but the adapted layer returns a different result"


def test_only_a_and_b_are_trained() -> None:
    """Weight and bias are frozen."""
    layer = layer_of()
    adapt(layer, 2, SCALE)
    yours = sorted(n.split(".")[-1] for n, each in layer.named_parameters() if each.requires_grad)
    assert yours == ["A", "B"], f"these require gradients: {yours}, expected A and B only"


def test_what_required_gradients_is_noted() -> None:
    """The flags are recorded by the layer's names, before it is frozen."""
    layer = layer_of()
    layer.bias.requires_grad_(requires_grad=False)
    yours = adapt(layer, 2, SCALE).was
    right = {"weight": True, "bias": False}
    assert yours == right, f"LoRA.was is {yours}, expected {right}"


def test_the_first_step_moves_b() -> None:
    """The gradient of A is 0, as it is multiplied by B; the second step moves both."""
    layer, x = layer_of(), numbers(4, 5, seed=3)
    weight = layer.weight.detach().clone()
    lora = adapt(layer, 2, SCALE)
    optimizer = torch.optim.SGD([each for each in layer.parameters() if each.requires_grad], 0.1)
    zeros = []
    for _ in range(2):
        optimizer.zero_grad()
        layer(x).pow(2).sum().backward()
        grads = lora.A.grad, lora.B.grad
        zeros.append([each is None or not each.any() for each in grads])
        optimizer.step()
    assert zeros == [[True, False], [False, False]], (
        f"whether the gradients of A and B are 0, in two steps: {zeros}, expected [[True, False],"
        " [False, False]]"
    )
    kept = torch.equal(layer.parametrizations.weight.original, weight)
    assert kept, "the frozen weight has changed"


@pytest.mark.parametrize("bias", [True, False])
def test_apart_is_the_same(bias: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Values and gradients are those of the adapted layer."""
    layer = layer_of(bias=bias)
    lora = learned(layer)
    x = numbers(2, 4, 5, seed=3).requires_grad_()
    with unchanged(x=x, layer=layer):
        yours = apart(layer, x)
    right = layer(x)
    same(yours, right, "apart")
    weights = numbers(*right.shape, seed=5)
    inputs = [x, lora.A, lora.B]
    grads = [torch.autograd.grad(each, inputs, weights) for each in (yours, right)]
    for name, found, wanted in zip(("x", "A", "B"), *grads, strict=True):
        same(found, wanted, f"the gradient of {name} through apart")


class Largest(TorchDispatchMode):
    """Keep the size of the largest result, and the operator that returned it."""

    def __init__(self, weight: torch.Tensor) -> None:
        """Remember the tensor whose views are ignored."""
        super().__init__()
        self.old = weight.untyped_storage().data_ptr()
        self.found = (0, "")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Look at the results."""
        results = func(*args, **(kwargs or {}))
        for each in results if isinstance(results, tuple | list) else [results]:
            if isinstance(each, torch.Tensor) and each.untyped_storage().data_ptr() != self.old:
                self.found = max(self.found, (each.numel(), str(func)))
        return results


def test_apart_makes_no_large_matrix() -> None:
    """With a weight of 64 by 64 and three rows of x, forward and backward stay small."""
    layer = layer_of(64, 64)
    learned(layer)
    x = numbers(3, 64, seed=3)
    with Largest(layer.parametrizations.weight.original) as watch:
        apart(layer, x).sum().backward()
    size, operator = watch.found
    assert size <= 3 * 64, (
        f"{operator} returned {size} elements; x has {x.numel()}, and the weight 4096. Which two of"
        " the three factors should you multiply first?"
    )


def test_merged_it_returns_the_same() -> None:
    """The result is a plain layer with the adapted weight."""
    layer, x = layer_of(), numbers(4, 5, seed=3)
    learned(layer)
    before, weight = layer(x).detach(), layer.weight.detach()
    remove(layer, merge=True)
    names = sorted(layer.state_dict())
    assert names == ["bias", "weight"], (
        f"merged, the state dict has {names}, expected bias and weight"
    )
    assert type(layer) is nn.Linear, f"the layer is still a {type(layer).__name__}, expected Linear"
    same(layer.weight.detach(), weight, "the weight, merged")
    same(layer(x).detach(), before, "what the merged layer returns")


def test_dropped_it_is_as_it_was() -> None:
    """The weight is restored bit for bit: nothing is subtracted."""
    layer = layer_of()
    weight = layer.weight.detach().clone()
    learned(layer)
    remove(layer, merge=False)
    names = sorted(layer.state_dict())
    assert names == ["bias", "weight"], (
        f"dropped, the state dict has {names}, expected bias and weight"
    )
    equal = torch.equal(layer.weight, weight)
    assert equal, f"the weight is off by {float((layer.weight - weight).detach().abs().max())}"


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("flags", [(True, True), (True, False), (False, True), (False, False)])
def test_gradients_are_required_as_before(
    flags: tuple[bool, bool],
    merge: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Some parameters were frozen before, and stay frozen."""
    layer = layer_of()
    for each, flag in zip((layer.weight, layer.bias), flags, strict=True):
        each.requires_grad_(flag)
    learned(layer)
    remove(layer, merge=merge)
    yours = layer.weight.requires_grad, layer.bias.requires_grad
    assert yours == flags, (
        f"weight and bias required gradients {flags} before; after remove(merge={merge}): {yours}"
    )


def test_it_can_be_adapted_again() -> None:
    """A merged layer can be adapted like any other, and other layers are not touched."""
    layers = layer_of(), layer_of(4, 6, bias=False)
    for layer in layers:
        learned(layer)
    remove(layers[0], merge=True)
    weight = layers[0].weight.detach().clone()
    second = learned(layers[0], rank=1)
    right = weight + SCALE * (second.B @ second.A).detach()
    same(layers[0].weight.detach(), right, "the weight of a second LoRA upon a merged one")
    kept = hasattr(layers[1], "parametrizations")
    assert kept, "the other layer has lost its LoRA"
