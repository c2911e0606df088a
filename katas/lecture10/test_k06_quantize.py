"""Tests of k06_quantize: scales, rounding and its gradient, observers, and three passes."""

from __future__ import annotations

import gc
import tracemalloc
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch import fx
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture10 import k06_quantize as kata
from katas.lecture10.k06_quantize import LEAST_SCALE
from katas.lecture10.k06_quantize import Observer
from katas.lecture10.k06_quantize import affine
from katas.lecture10.k06_quantize import convert
from katas.lecture10.k06_quantize import fake_quantize
from katas.lecture10.k06_quantize import prepare
from katas.lecture10.k06_quantize import quantize
from katas.lecture10.k06_quantize import simulate
from katas.lecture10.k06_quantize import symmetric
from plugins.kit import forbids
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

try:
    from torch.ao.quantization.observer import MinMaxObserver
except ImportError:  # it is deprecated
    MinMaxObserver = None

NUMBERS = st.floats(-1000, 1000, allow_nan=False, width=32)


def test_the_range_falls_on_255_steps() -> None:
    """The least value is -128, the greatest 127, and 0 is the zero point."""
    for low, high, expected in (
        (-128.0, 127.0, (1.0, 0)),
        (0.0, 255.0, (1.0, -128)),
        (-510.0, 0.0, (2.0, 127)),
        (-25.5, 102.0, (0.5, -77)),
    ):
        found = affine(low, high)
        assert expected == found, f"[{low}, {high}]: expected {expected}, found {found}"


def test_the_range_holds_zero() -> None:
    """Though no such value was seen: padding and ReLU make zeros."""
    assert (1.0, -128) == affine(100.0, 255.0), "widen [100, 255] to [0, 255]"
    assert (1.0, 127) == affine(-255.0, -3.0)
    assert (LEAST_SCALE, -128) == affine(0.0, 0.0), "a scale of 0 cannot be divided by"


@given(ends=st.tuples(NUMBERS, NUMBERS))
def test_any_range(ends: tuple[float, float]) -> None:
    """0 is exact, the ends are at most half a step away; where PyTorch's observer is left: its."""
    low, high = sorted(ends)
    scale, zero_point = affine(low, high)

    assert isinstance(scale, float)
    assert isinstance(zero_point, int)
    assert -128 <= zero_point <= 127, f"0 has no integer in the range of {low} to {high}"
    for end in (low, high):
        there = (min(max(round(end / scale) + zero_point, -128), 127) - zero_point) * scale
        assert abs(there - end) <= 0.501 * scale, f"{end} becomes {there}, scale {scale}"
    if MinMaxObserver:
        oracle = MinMaxObserver(torch.qint8, torch.per_tensor_affine)
        oracle(torch.tensor([low, high]))
        scales, zeros = oracle.calculate_qparams()
        assert scales.item() == pytest.approx(scale, rel=1e-5)
        # In float32 a zero point that is nearly a tie may fall to the other side.
        assert abs(zeros.item() - zero_point) <= 1, f"PyTorch: {zeros.item()}, found {zero_point}"


def test_a_scale_for_each_output_channel() -> None:
    """The greatest absolute value falls on 127; a channel of zeros has the least scale."""
    weight = torch.tensor([[1.0, -254.0], [0.0, 0.0], [127.0, 3.0]], requires_grad=True)
    scales = symmetric(weight)

    assert [[2.0], [LEAST_SCALE], [1.0]] == scales.tolist()
    assert not scales.requires_grad, "the scale is a number that was looked up"
    tiny = symmetric(torch.tensor([[1e-6, 0.0]])).item()
    assert LEAST_SCALE == tiny, f"1e-6 over 127 is less than the least scale, found {tiny}"
    conv = symmetric(torch.randn(4, 3, 2, 5))
    assert (4, 1, 1, 1) == tuple(conv.shape), "keep the dims, so that it broadcasts"


def test_to_the_nearest_integer() -> None:
    """A step is a scale; the zero point is added; what is out of range goes to its end."""
    x = torch.tensor([0.0, 0.5, 1.1, -3.6, 1000.0, -1000.0])
    found = quantize(x, 0.5, 3, -128, 127)

    assert torch.int8 is found.dtype
    assert [3, 4, 5, -4, 127, -128] == found.tolist(), f"{x.tolist()} became {found.tolist()}"
    assert [3, 4, 5, -4, 7, -7] == quantize(x, 0.5, 3, -7, 7).tolist()
    huge = torch.tensor([torch.inf, -torch.inf, 1e30])
    assert [127, -128, 127] == quantize(huge, 0.5, 3, -128, 127).tolist(), "clamp, then cast"


def test_halves_go_to_the_even_neighbour() -> None:
    """Before the zero point is added, which is odd here."""
    x = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5])
    found = quantize(x, 1.0, 1, -128, 127).tolist()

    assert [1, 3, 3, 1, -1] == found, f"0, 2, 2, 0, -2 and the zero point 1; found {found}"


def test_what_is_rounded_is_a_quotient() -> None:
    """``x / scale``, and not x times ``1 / scale``, which is rounded itself: halves show it."""
    x = torch.tensor([-9.35, -8.35, 8.35, 9.35], dtype=torch.float64)
    found = quantize(x, 0.1, 0, -128, 127).tolist()

    assert torch.round(x / 0.1).tolist() == found, f"the quotients are {(x / 0.1).tolist()}"


def test_one_scale_for_each_channel() -> None:
    """A tensor of scales broadcasts."""
    scales = torch.tensor([[1.0], [2.0]])

    assert [[2, 4], [1, 2]] == quantize(
        torch.tensor([[2.0, 4.0], [2.0, 4.0]]), scales, 0, -127, 127
    ).tolist()


values = st.lists(st.integers(-600, 600).map(lambda n: n / 4), min_size=1, max_size=12)


@example(values=[126.5, 127.25, 127.5, -128.25, -128.5, -128.75], power=0, zero_point=0)
@given(values=values, power=st.integers(-3, 2), zero_point=st.integers(-128, 127))
def test_fake_values_and_gradients(values: list[float], power: int, zero_point: int) -> None:
    """Those of PyTorch's kernel, ties included; out of range the gradient is 0."""
    scale = 2.0**power
    x = torch.tensor(values, requires_grad=True)
    y = torch.tensor(values, requires_grad=True)
    with unchanged(x=x):
        found = fake_quantize(x, scale, zero_point, -128, 127)
    expected = torch.fake_quantize_per_tensor_affine(y, scale, zero_point, -128, 127)
    weights = torch.arange(1.0, len(values) + 1)
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    where = f"x = {values}, scale {scale}, zero point {zero_point}"

    torch.testing.assert_close(found, expected, rtol=0, atol=0, msg=lambda text: f"{where}: {text}")
    torch.testing.assert_close(
        x.grad, y.grad, rtol=0, atol=0, msg=lambda text: f"gradient, {where}: {text}"
    )


def test_fake_weights() -> None:
    """By channel, in float64 too: what quantise gives, taken back."""
    weight = torch.randn(3, 4, 2, 2, dtype=torch.float64, requires_grad=True)
    scales = torch.tensor([0.25, 0.5, 0.125], dtype=torch.float64)
    zeros = torch.zeros(3, dtype=torch.int32)
    expected = torch.fake_quantize_per_channel_affine(
        weight.detach(), scales.float(), zeros, 0, -2, 2
    )
    broadcast = scales.view(3, 1, 1, 1).requires_grad_()
    found = fake_quantize(weight, broadcast, 0, -2, 2)
    found.sum().backward()

    torch.testing.assert_close(found.detach(), expected, rtol=0, atol=0)
    assert torch.float64 is found.dtype
    inside = (weight.detach() / broadcast.detach()).round().abs() <= 2
    torch.testing.assert_close(weight.grad, inside.double(), msg=lambda t: f"gradient: {t}")
    assert broadcast.grad is None, "the scale is given, not learned"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_fake_values_and_gradients_have_the_dtype_of_x(dtype: torch.dtype) -> None:
    """A scale of another dtype is a number for the dtype of x: it promotes nothing."""
    for scale in (0.5, torch.tensor([[0.5], [0.25]], dtype=torch.float64), torch.tensor([0.5])):
        x = torch.tensor([[0.3, -1.4], [0.6, 40.0]], dtype=dtype, requires_grad=True)
        with unchanged(x=x, scale=scale):
            found = fake_quantize(x, scale, 3, -128, 127)
        found.sum().backward()
        which = f"x is {dtype}, scale {scale}"

        assert dtype is found.dtype, f"{which}: yours returns {found.dtype}"
        assert dtype is x.grad.dtype, f"{which}: the gradient is {x.grad.dtype}"


def test_an_observer_sees_and_hands_on() -> None:
    """The range of all calls; 0 is in it; the value is the very same."""
    observer = Observer()
    x = torch.tensor([[3.0, 5.0]], requires_grad=True)

    with unchanged(x=x):
        assert observer(x) is x, "an observer hands on its very input"
    assert (0.0, 5.0) == (observer.low.item(), observer.high.item())
    observer(torch.tensor([-2.0, 4.0]))
    assert (-2.0, 5.0) == (observer.low.item(), observer.high.item()), "the range only grows"
    observer.eval()(torch.tensor([6.0]))
    assert 6.0 == observer.high.item(), "in eval mode it sees as well: all calls count"
    observer(torch.tensor([-9.0, 9.0], requires_grad=True))
    kept = [value.requires_grad for value in (observer.low, observer.high)]
    assert [False, False] == kept, "it would keep the graph of every batch alive"
    assert {"low", "high"} == observer.state_dict().keys()


class Attention(nn.Module):
    """Three layers that read one value, one that reads another, and a way around."""

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
    """One for each value that layers read, right before the first of them."""
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
    """It computes what it did, and its observers see what layers read."""
    module = fx.symbolic_trace(Attention())
    prepared = prepare(module)
    x, scale = torch.randn(3, 4), torch.randn(4)
    torch.testing.assert_close(prepared(x, scale), module(x, scale), rtol=0, atol=0)

    assert module.norm(x).max().item() == prepared.observer_0.high.item()
    assert x.min().item() == prepared.observer_2.low.item()
    prepared(x * 10, scale)
    assert 10 * x.min().item() == pytest.approx(prepared.observer_2.low.item())


def calibrated(model: nn.Module, *inputs: torch.Tensor) -> tuple[fx.GraphModule, fx.GraphModule]:
    """Return a traced model, and the same with observers that have seen the inputs."""
    module = fx.symbolic_trace(model)
    with unchanged(module=module, inputs=inputs):
        prepared = prepare(module)
        with torch.no_grad():
            prepared(*inputs)
    return module, prepared


def rounded(layer: nn.Module, x: torch.Tensor, low: float, high: float) -> torch.Tensor:
    """Return what a layer makes of rounded inputs and weights, rounded by PyTorch.

    It is given steps, of scale 1: it keeps a scale as float32, and what lies next to the middle
    between two integers would fall to the other side.
    """
    scale, zero_point = affine(low, high)
    x = torch.fake_quantize_per_tensor_affine(x / scale, 1.0, zero_point, -128, 127) * scale
    weight = layer.weight.detach()
    scales = weight.abs().flatten(1).amax(1).clamp(min=127 * LEAST_SCALE) / 127
    scales = scales.view(-1, *[1] * (weight.dim() - 1))
    weight = torch.fake_quantize_per_tensor_affine(weight / scales, 1.0, 0, -127, 127) * scales
    return torch.func.functional_call(layer, {"weight": weight}, (x,))


def test_a_simulated_layer() -> None:
    """Its input and its weight are rounded as PyTorch's fake quantisation does; the bias is not."""
    layer, x = nn.Linear(8, 3), torch.rand(5, 8) * 4 - 1
    _, prepared = calibrated(nn.Sequential(layer), x)
    found = simulate(prepared)(x)

    torch.testing.assert_close(found, rounded(layer, x, x.min().item(), x.max().item()))
    assert not torch.equal(found, layer(x)), "nothing was rounded"


def test_an_integer_layer() -> None:
    """Integers compute what the simulation said."""
    layer, x = nn.Linear(8, 3), torch.rand(5, 8) * 4 - 1
    _, prepared = calibrated(nn.Sequential(layer), x)

    torch.testing.assert_close(
        convert(prepared)(x), rounded(layer, x, x.min().item(), x.max().item())
    )


def test_the_range_was_seen_before() -> None:
    """Values that no batch had are clamped: a scale of each input's own takes a pass over it."""
    layer, x = nn.Linear(8, 3), torch.rand(5, 8) * 4 - 1
    _, prepared = calibrated(nn.Sequential(layer), x)
    expected = rounded(layer, 3 * x, x.min().item(), x.max().item())

    torch.testing.assert_close(simulate(prepared)(3 * x), expected)
    torch.testing.assert_close(convert(prepared)(3 * x), expected)


def test_graphs_of_the_two() -> None:
    """Same nodes as with observers; each call of a layer has a module of its own."""
    _, prepared = calibrated(Attention(), torch.randn(3, 4), torch.randn(4))
    converted = convert(prepared)

    assert graph_text(converted) == graph_text(simulate(prepared))
    assert_expected_inline(
        graph_text(converted),
        """\
x = input
scale = input
norm = self.norm(x)
quantize_0 = self.quantize_0(norm)
layer_0 = self.layer_0(quantize_0)
relu = relu(layer_0)
layer_1 = self.layer_1(quantize_0)
mul = operator.mul(relu, layer_1)
mul_1 = operator.mul(mul, scale)
quantize_1 = self.quantize_1(mul_1)
layer_2 = self.layer_2(quantize_1)
add = operator.add(layer_2, norm)
quantize_2 = self.quantize_2(x)
layer_3 = self.layer_3(quantize_2)
add_1 = operator.add(add, layer_3)
return add_1""",
    )


def check(model: nn.Module, *inputs: torch.Tensor, layers: int) -> fx.GraphModule:
    """Compare integers with the simulation, in float64, where no rounding falls between them."""
    _, prepared = calibrated(model.double().eval(), *inputs)
    with unchanged(prepared=prepared):
        simulated, converted = simulate(prepared), convert(prepared)
    for graph_module in (prepared, simulated, converted):
        graph_module.graph.lint()
    with torch.no_grad():
        torch.testing.assert_close(converted(*inputs), simulated(*inputs), rtol=1e-6, atol=1e-6)
    names = [str(node.target) for node in converted.graph.nodes if node.op == "call_module"]
    found = sum(name.startswith("layer_") for name in names)
    assert layers == found, f"{found} layers were converted, expected {layers}"
    return converted


def convolution(draw: st.DrawFn) -> nn.Conv2d:
    """Draw a convolution."""
    groups = draw(st.integers(1, 2))
    return nn.Conv2d(
        2 * groups,
        3 * groups,
        draw(st.integers(1, 3)),
        stride=draw(st.integers(1, 2)),
        padding=draw(st.integers(0, 2)),
        groups=groups,
        bias=draw(st.booleans()),
    )


@settings(max_examples=12)
@given(layer=st.composite(convolution)(), shift=st.floats(-2, 2), seed=st.integers(0, 100))
def test_convolutions(layer: nn.Conv2d, shift: float, seed: int) -> None:
    """Padding is 0, not the integer 0, which stands for another number."""
    torch.manual_seed(seed)
    x = torch.rand(2, layer.in_channels, 6, 6, dtype=torch.float64) + shift
    converted = check(nn.Sequential(layer), x, layers=1)
    expected = rounded(layer, x, x.min().item(), x.max().item())

    torch.testing.assert_close(
        converted(x), expected, rtol=1e-5, atol=1e-5, msg=lambda text: f"{layer}: {text}"
    )


class Running(TorchDispatchMode):
    """Lists products and convolutions with the dtypes of what they multiply, and all names."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.products: list[set[torch.dtype]] = []

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Note the call and go on."""
        name = str(func.overloadpacket).removeprefix("aten.")
        self.names.add(name)
        if name in {"mm", "addmm", "bmm", "baddbmm", "mv", "dot", "convolution", "matmul"}:
            self.products.append({x.dtype for x in args if isinstance(x, torch.Tensor)})
        return func(*args, **(kwargs or {}))


class Mixed(nn.Module):
    """A convolution and a linear layer, one called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = nn.Conv2d(2, 3, 3, padding=1), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (N, 3, 4, 4) for (N, 2, 4, 4)."""
        return self.fc(torch.relu(self.fc(self.conv(x))) * 30)


def test_products_are_int32() -> None:
    """An input is int8 on its way to the layer, and int32 where it is multiplied."""
    x = torch.randn(2, 2, 4, 4)
    _, prepared = calibrated(Mixed(), x)
    converted = convert(prepared)
    seen: dict[str, torch.dtype] = {}

    class Spy(fx.Interpreter):
        def run_node(self, n: fx.Node) -> Any:
            value = super().run_node(n)
            seen[str(n.target)] = getattr(value, "dtype", None)
            return value

    with Running() as running:
        Spy(converted).run(x)

    for number in range(3):
        assert torch.int8 is seen[f"quantize_{number}"]
        assert torch.float32 is seen[f"layer_{number}"]
    assert [{torch.int32}] * 3 == running.products, f"multiplied: {running.products}"


def large(side: int, x: torch.Tensor) -> fx.GraphModule:
    """Return two converted layers, of which nothing else is left."""
    model = nn.Sequential(nn.Linear(side, side), nn.ReLU(), nn.Linear(side, side, bias=False))
    converted = convert(calibrated(model, x)[1])
    converted(x)
    return converted


def living() -> list[torch.Tensor]:
    """Return all tensors that Python knows of, whoever holds them."""
    gc.collect()
    return [each for each in gc.get_objects() if issubclass(type(each), torch.Tensor)]


def test_weights_are_int8() -> None:
    """A quarter of the bytes."""
    state = large(64, torch.randn(8, 64)).state_dict().values()
    sizes = [tensor.numel() for tensor in state if tensor.dtype is torch.int8]
    bytes_ = sum(tensor.numel() * tensor.element_size() for tensor in state)

    assert [64 * 64, 64 * 64] == sizes, f"int8 tensors of {sizes} elements"
    assert bytes_ < 0.3 * 4 * 2 * 64 * 64, f"{bytes_} bytes for {2 * 64 * 64} weights"


def test_no_float_weight_is_kept_anywhere() -> None:
    """Not in the module, a closure, a cache, a graph of autograd, an array or a list of numbers."""
    side, x = 512, torch.randn(2, 512)
    large(8, torch.randn(2, 8))  # what is made once, whatever the layers
    before = living()
    known = {each.untyped_storage().data_ptr() for each in before if type(each) is torch.Tensor}
    tracemalloc.start()
    try:
        converted = large(side, x)
        new = {
            each.untyped_storage().data_ptr(): each.untyped_storage().nbytes()
            for each in living()
            if type(each) in {torch.Tensor, nn.Parameter, nn.Buffer}
        }
        others, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    kept = [module for module in converted.modules() if isinstance(module, nn.Linear)]
    held = sum(size for place, size in new.items() if place not in known)
    floats = 2 * 4 * side * side

    assert not kept, "the layer itself is kept, with its float weight"
    assert held < 0.3 * floats, (
        f"once model and prepared are gone, {held:,} bytes of tensors are alive for {side}x{side}"
        f" weights of two layers: {floats // 4:,} are their integers. Who holds the floats?"
    )
    assert others < 0.3 * floats, f"{others:,} bytes of arrays and Python's objects are alive"


def test_one_module_at_two_places() -> None:
    """Each call has the scale of its own input."""
    check(Mixed(), torch.randn(2, 2, 4, 4, dtype=torch.float64), layers=3)


def test_padding_may_be_a_word() -> None:
    """``nn.Conv2d`` takes "same" and "valid" besides numbers."""
    for padding in ("same", "valid"):
        layer = nn.Conv2d(2, 3, 3, padding=padding)
        check(nn.Sequential(layer), torch.randn(2, 2, 5, 5, dtype=torch.float64), layers=1)


def test_the_result_has_the_dtype_of_the_weight() -> None:
    """Of a float64 model float64, of a bfloat16 one bfloat16, though sums are int32."""
    for dtype in (torch.float64, torch.bfloat16):
        x = torch.randn(3, 4, dtype=dtype)
        _, prepared = calibrated(nn.Sequential(nn.Linear(4, 2)).to(dtype), x)
        assert dtype is convert(prepared)(x).dtype


def test_others_are_left_alone() -> None:
    """Subclasses, functions and other layers."""

    class Special(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).sin()

    class Leaf(fx.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return not isinstance(m, nn.Sequential)

    model = nn.Sequential(Special(4, 4), nn.Conv1d(3, 3, 1), nn.Bilinear(4, 4, 4))
    module = fx.GraphModule(model[:2], Leaf().trace(model[:2]))
    text = graph_text(module)

    assert text == graph_text(prepare(module))
    assert text == graph_text(convert(prepare(module)))


def test_the_given_modules_are_left_alone() -> None:
    """Their graphs, their submodules, and their results."""
    x = torch.randn(3, 4), torch.randn(4)
    module = fx.symbolic_trace(Attention())
    text, names, expected = graph_text(module), dict(module.named_modules()), module(*x)
    modes = [each.training for each in module.modules()]
    prepared = prepare(module)
    prepared(*x)
    second, children = graph_text(prepared), dict(prepared.named_modules())
    state = {name: value.clone() for name, value in prepared.state_dict().items()}
    converted, simulated = convert(prepared), simulate(prepared)
    simulated(*x)
    converted(*x)

    assert text == graph_text(module)
    assert second == graph_text(prepared)
    assert names == dict(module.named_modules())
    assert children == dict(prepared.named_modules())
    assert modes == [each.training for each in module.modules()], (
        "train or eval is not yours to set"
    )
    torch.testing.assert_close(module(*x), expected, rtol=0, atol=0)
    torch.testing.assert_close(prepared(*x), expected, rtol=0, atol=0)
    for name, value in state.items():
        torch.testing.assert_close(prepared.state_dict()[name], value, rtol=0, atol=0)


def test_a_simulation_is_trained() -> None:
    """Gradients go through the rounding to the layer's own parameters, whose scale is looked up."""
    layer, x = nn.Linear(6, 2), torch.randn(4, 6)
    _, prepared = calibrated(nn.Sequential(layer), x)
    simulated = simulate(prepared)
    simulated(x).square().sum().backward()
    found = rounded(layer, x, min(x.min().item(), 0), max(x.max().item(), 0)).detach()
    scale, zero_point = affine(x.min().item(), x.max().item())
    inputs = torch.fake_quantize_per_tensor_affine(x, scale, zero_point, -128, 127)

    assert layer.weight.grad is not None, "train the layer's own weight, not a copy"
    torch.testing.assert_close(layer.weight.grad, (2 * found).t() @ inputs)
    torch.testing.assert_close(layer.bias.grad, (2 * found).sum(0))
    with torch.no_grad():
        layer.weight.mul_(10)
    expected = rounded(layer, x, x.min().item(), x.max().item())
    torch.testing.assert_close(simulated(x), expected, msg=lambda t: f"the old scale? {t}")
    torch.testing.assert_close(convert(prepared)(x), expected)


@given(sizes=st.tuples(st.integers(1, 20), st.integers(1, 4)), seed=st.integers(0, 1000))
def test_the_error_has_a_bound(sizes: tuple[int, int], seed: int) -> None:
    """Half a step of each factor times the other: small, and known before anything runs."""
    torch.manual_seed(seed)
    layer = nn.Linear(*sizes).double()
    x = torch.randn(7, sizes[0], dtype=torch.float64)
    module, prepared = calibrated(nn.Sequential(layer), x)
    error = (convert(prepared)(x) - module(x)).abs()
    step = affine(x.min().item(), x.max().item())[0] / 2
    steps = symmetric(layer.weight).flatten() / 2
    bound = step * layer.weight.abs().sum(1) + steps * (
        x.abs().sum(1, keepdim=True) + len(x[0]) * step
    )

    assert (error <= 1.001 * bound + 1e-9).all(), f"error {error.max()}, bound {bound.max()}"


@pytest.mark.parametrize("name", ["resnet", "unet"])
def test_models(name: str, zoo: Callable[[str], Any]) -> None:
    """Integers and simulation agree, and both are near the float model."""
    model, inputs = zoo(name)
    inputs = tuple(x.double() for x in inputs)
    layers = sum(type(m) in {nn.Linear, nn.Conv2d} for m in model.modules())
    converted = check(model, *inputs, layers=layers)
    with torch.no_grad():
        expected, found = model(*inputs), converted(*inputs)
    noise = ((found - expected).norm() / (expected - expected.mean()).norm()).item()

    # No least error: where every ReLU of a channel is at 0, integers are exact.
    assert noise < 0.5, f"{name}: the error is {noise:.1%} of the result"


READY_MADE = (
    "torch.ao",
    "torch.ao.quantization.fake_quantize",
    "torch.ao.quantization.observer",
    "torch.fake_quantize_per_channel_affine",
    "torch.fake_quantize_per_tensor_affine",
    "torch.quantization",
    "torch.quantize_per_channel",
    "torch.quantize_per_tensor",
    "torch.quantize_per_tensor_dynamic",
)


def test_nothing_ready_made_is_called() -> None:
    """PyTorch has kernels that quantise; they are what is being written here."""
    x = torch.randn(3, 4)
    module = fx.symbolic_trace(nn.Sequential(nn.Linear(4, 2)))
    # By any name: with these names in it each operator that does the work begins.
    kernels = ("aten::fake_quantize", "aten::_fake_quantize", "aten::quantize_per", "quantized::")
    with forbids(
        kata, *READY_MADE, operators=(*kernels, "aten::dequantize", "quantized_decomposed::")
    ) as fresh:
        prepared = fresh.prepare(module)
        prepared(x)
        fresh.quantize(x, 0.5, 0, -128, 127)
        fresh.fake_quantize(x, 0.5, 0, -128, 127)
        fresh.simulate(prepared)(x)
        fresh.convert(prepared)(x)
