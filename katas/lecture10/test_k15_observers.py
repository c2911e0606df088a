"""Tests of k15_observers: what an observer sees, and where it is inserted."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch import fx
from torch import nn

from katas.lecture10 import k15_observers as kata
from katas.lecture10.k15_observers import Observer
from katas.lecture10.k15_observers import prepare
from plugins.kit import forbids
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


def test_an_observer_sees_and_hands_on() -> None:
    """The range covers all calls and 0; the value is the very same tensor."""
    observer = Observer()
    x = torch.tensor([[3.0, 5.0]], requires_grad=True)

    with unchanged(x=x):
        assert observer(x) is x, "an observer must return its very input"
    assert (0.0, 5.0) == (observer.low.item(), observer.high.item()), (
        f"the range is {observer.low.item()} to {observer.high.item()}, expected 0 to 5: always "
        f"include 0"
    )
    observer(torch.tensor([-2.0, 4.0]))
    assert (-2.0, 5.0) == (observer.low.item(), observer.high.item()), (
        "expected the range -2 to 5: it only grows"
    )
    observer.eval()(torch.tensor([6.0]))
    assert 6.0 == observer.high.item(), "expected high to be 6: observe calls in eval mode as well"
    assert -2.0 == observer.low.item(), "expected low to stay -2: keep what earlier calls have seen"
    observer(torch.tensor([-9.0, 9.0], requires_grad=True))
    kept = [value.requires_grad for value in (observer.low, observer.high)]
    assert [False, False] == kept, (
        "low or high requires grad: that would keep the graph of every batch alive"
    )
    assert {"low", "high"} == observer.state_dict().keys(), (
        f"the state_dict holds {sorted(observer.state_dict())}, expected high and low: the "
        "range is saved with the model"
    )


class Attention(nn.Module):
    """Three layers that read one value, one that reads another, and a skip connection."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4, bias=False)])
        self.norm = nn.LayerNorm(4)
        self.out = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        """Return something like attention."""
        y = self.norm(x)
        z = torch.relu(self.heads[0](y)) * self.heads[1](y) * scale
        return self.out(z) + y + self.heads[0](x)


def test_observers_in_a_graph() -> None:
    """Each value that layers read has one observer, right before the first of these layers."""
    module = fx.symbolic_trace(Attention())
    assert_expected_inline(
        graph_text(prepare(module)),
        """\
x = input
scale = input
norm = self.norm(x)
observer_0 = self.observer_0(norm)
heads_0 = self.heads.0(observer_0)
relu = relu(heads_0)
heads_1 = self.heads.1(observer_0)
mul = operator.mul(relu, heads_1)
mul_1 = operator.mul(mul, scale)
observer_1 = self.observer_1(mul_1)
out = self.out(observer_1)
add = operator.add(out, norm)
observer_2 = self.observer_2(x)
heads_0_1 = self.heads.0(observer_2)
add_1 = operator.add(add, heads_0_1)
return add_1""",
    )


def test_prepared_is_the_same_model() -> None:
    """It computes the same as before, and its observers see what layers read."""
    module = fx.symbolic_trace(Attention())
    prepared = prepare(module)
    x, scale = torch.randn(3, 4), torch.randn(4)
    torch.testing.assert_close(prepared(x, scale), module(x, scale), rtol=0, atol=0)

    assert module.norm(x).max().item() == prepared.observer_0.high.item(), (
        f"the largest value observer_0 has seen is {prepared.observer_0.high.item()}, that of "
        f"norm(x) is {module.norm(x).max().item()}"
    )
    assert x.min().item() == prepared.observer_2.low.item(), (
        f"the smallest value observer_2 has seen is {prepared.observer_2.low.item()}, that of x is "
        f"{x.min().item()}"
    )
    prepared(x * 10, scale)
    assert 10 * x.min().item() == pytest.approx(prepared.observer_2.low.item()), (
        f"the smallest value observer_2 has seen is {prepared.observer_2.low.item()}, that of x * "
        f"10 is {10 * x.min().item()}: a second call widens the range"
    )


def test_others_are_left_alone() -> None:
    """Subclasses, functions and other layers get no observer."""

    class Special(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).sin()

    class Leaf(fx.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return not isinstance(m, nn.Sequential)

    model = nn.Sequential(Special(4, 4), nn.Conv1d(3, 3, 1), nn.Bilinear(4, 4, 4))
    module = fx.GraphModule(model[:2], Leaf().trace(model[:2]))

    assert graph_text(module) == graph_text(prepare(module)), (
        "none of these is a layer: leave the graph as it is"
    )


def test_models(zoo: Callable[[str], Any]) -> None:
    """Each convolution's input in a U-Net is seen: the range of the first is that of the image."""
    model, inputs = zoo("unet")
    prepared = prepare(fx.symbolic_trace(model))
    prepared(*inputs)
    prepared.graph.lint()

    observers = [m for m in prepared.modules() if isinstance(m, Observer)]
    assert 11 == len(observers), f"your graph has {len(observers)} observers, expected 11"
    low, high = inputs[0].aminmax()
    assert (low, high) == (observers[0].low, observers[0].high), (
        "the first observer's range is not that of the image"
    )


def test_nothing_ready_made_is_called() -> None:
    """PyTorch's own passes may not be called: you are writing them."""
    names = ("katas.lecture10.int8", "torch.ao", "torch.quantization")
    with forbids(kata, *names) as fresh:
        fresh.prepare(fx.symbolic_trace(nn.Sequential(nn.Linear(4, 2))))(torch.ones(1, 4))


def test_the_given_module_is_left_alone() -> None:
    """The given module keeps its graph, its submodules, and its results."""
    x = torch.randn(3, 4), torch.randn(4)
    module = fx.symbolic_trace(Attention())
    text, names, expected = graph_text(module), dict(module.named_modules()), module(*x)
    with unchanged(module=module):
        prepared = prepare(module)
        torch.testing.assert_close(prepared(*x), expected, rtol=0, atol=0)

    assert text == graph_text(module), "copy the graph before you insert into it"
    assert names == dict(module.named_modules()), (
        "the given module's submodules changed: add the observers to the new module"
    )
    torch.testing.assert_close(module(*x), expected, rtol=0, atol=0)
    code = prepared.code
    prepared.recompile()
    assert code == prepared.code, "the code does not match the graph: call recompile()"
