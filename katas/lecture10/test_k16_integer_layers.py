"""Tests of k16_integer_layers: int8 weights, int32 sums, and the graph that holds them."""

from __future__ import annotations

import gc
import tracemalloc
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch import fx
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture10 import k16_integer_layers as kata
from katas.lecture10.int8 import LEAST_SCALE
from katas.lecture10.int8 import Observer
from katas.lecture10.int8 import affine
from katas.lecture10.int8 import called
from katas.lecture10.int8 import layers
from katas.lecture10.int8 import prepare
from katas.lecture10.int8 import symmetric
from katas.lecture10.k16_integer_layers import IntegerLayer
from katas.lecture10.k16_integer_layers import convert
from plugins.kit import forbids
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


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


def calibrated(model: nn.Module, *inputs: torch.Tensor) -> tuple[fx.GraphModule, fx.GraphModule]:
    """Return a traced model, and a copy whose observers have seen the inputs."""
    module = fx.symbolic_trace(model)
    with unchanged(module=module, inputs=inputs):
        prepared = prepare(module)
        with torch.no_grad():
            prepared(*inputs)
    return module, prepared


def rounded(layer: nn.Module, x: torch.Tensor, low: float, high: float) -> torch.Tensor:
    """Return what a layer computes from inputs and weights that PyTorch has rounded.

    PyTorch gets x / scale and a scale of 1: it keeps a scale as float32, and what is close to the
    middle between two integers could round to the other side.
    """
    scale, zero_point = affine(low, high)
    x = torch.fake_quantize_per_tensor_affine(x / scale, 1.0, zero_point, -128, 127) * scale
    weight = layer.weight.detach()
    scales = weight.abs().flatten(1).amax(1).clamp(min=127 * LEAST_SCALE) / 127
    scales = scales.view(-1, *[1] * (weight.dim() - 1))
    weight = torch.fake_quantize_per_tensor_affine(weight / scales, 1.0, 0, -127, 127) * scales
    return torch.func.functional_call(layer, {"weight": weight}, (x,))


@pytest.mark.parametrize("kind", [nn.Linear, nn.Conv2d])
def test_a_difference_of_two_int8_is_no_int8(kind: type[nn.Module]) -> None:
    """From -128 to 127 it is 255 steps, which would wrap around to -1 in int8."""
    layer = nn.Linear(1, 1, bias=False) if kind is nn.Linear else nn.Conv2d(1, 1, 1, bias=False)
    nn.init.ones_(layer.weight)
    for q, zero_point in ((5, 3), (127, -128), (-128, 127)):
        given = torch.full((1, 1) if kind is nn.Linear else (1, 1, 1, 1), q, dtype=torch.int8)
        expected = (q - zero_point) * 0.5
        found = IntegerLayer(layer, 0.5, zero_point)(given).item()
        assert abs(expected - found) < 1e-4, (
            f"{layer} of weight 1, scale 0.5 and zero point {zero_point}: for int8 {q} your layer "
            f"returns {found:g}, expected ({q} - {zero_point}) * 0.5 = {expected:g}"
        )


def test_an_integer_layer() -> None:
    """Integers compute what the simulation predicted."""
    layer, x = nn.Linear(8, 3), torch.rand(5, 8) * 4 - 1
    _, prepared = calibrated(nn.Sequential(layer), x)
    low, high = x.min().item(), x.max().item()

    torch.testing.assert_close(
        convert(prepared)(x),
        rounded(layer, x, low, high),
        msg=lambda m: f"{layer}, scale and zero point {affine(low, high)}: {m}",
    )


def test_the_range_was_seen_before() -> None:
    """Values that no batch had are clamped: a scale for each input would need a pass over it."""
    layer, x = nn.Linear(8, 3), torch.rand(5, 8) * 4 - 1
    _, prepared = calibrated(nn.Sequential(layer), x)
    expected = rounded(layer, 3 * x, x.min().item(), x.max().item())

    torch.testing.assert_close(
        convert(prepared)(3 * x), expected, msg=lambda m: f"{layer}, for 3 times what was seen: {m}"
    )


def check(model: nn.Module, *inputs: torch.Tensor, layers: int) -> fx.GraphModule:
    """Compare integers with rounded floats, in float64, where no rounding falls between them."""
    _, prepared = calibrated(model.double().eval(), *inputs)
    with unchanged(prepared=prepared):
        converted = convert(prepared)
    converted.graph.lint()
    with torch.no_grad():
        theirs, yours = Rounding(prepared).run(*inputs), converted(*inputs)
    torch.testing.assert_close(
        yours, theirs, rtol=1e-6, atol=1e-6, msg=lambda m: f"integers and rounded floats: {m}"
    )
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
    """Padding is the number 0, not the integer 0, which stands for a different number."""
    torch.manual_seed(seed)
    x = torch.rand(2, layer.in_channels, 6, 6, dtype=torch.float64) + shift
    converted = check(nn.Sequential(layer), x, layers=1)
    expected = rounded(layer, x, x.min().item(), x.max().item())

    torch.testing.assert_close(
        converted(x),
        expected,
        rtol=1e-5,
        atol=1e-5,
        msg=lambda text: (
            f"{layer}, scale and zero point {affine(x.min().item(), x.max().item())}: {text}"
        ),
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
        """Record the call and run it."""
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
    """An input reaches the layer as int8, and is multiplied as int32."""
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
        assert torch.int8 is seen[f"quantize_{number}"], (
            f"quantize_{number} returns {seen[f'quantize_{number}']}, expected torch.int8, which "
            f"the layer receives"
        )
        assert torch.float32 is seen[f"layer_{number}"], (
            f"layer_{number} returns {seen[f'layer_{number}']}, expected torch.float32, the dtype "
            f"of the original weight"
        )
    assert [{torch.int32}] * 3 == running.products, (
        f"products have the dtypes {running.products}, expected int32 for all three"
    )


def large(side: int, x: torch.Tensor) -> fx.GraphModule:
    """Return two converted layers; nothing else of them is left."""
    model = nn.Sequential(nn.Linear(side, side), nn.ReLU(), nn.Linear(side, side, bias=False))
    converted = convert(calibrated(model, x)[1])
    converted(x)
    return converted


def living() -> list[torch.Tensor]:
    """Return all tensors that Python knows of, whoever holds them."""
    gc.collect()
    return [each for each in gc.get_objects() if issubclass(type(each), torch.Tensor)]


def test_weights_are_int8() -> None:
    """Int8 weights take a quarter of the bytes."""
    state = large(64, torch.randn(8, 64)).state_dict().values()
    sizes = [tensor.numel() for tensor in state if tensor.dtype is torch.int8]
    bytes_ = sum(tensor.numel() * tensor.element_size() for tensor in state)

    assert [64 * 64, 64 * 64] == sizes, (
        f"the int8 tensors have {sizes} elements, expected two of 4096"
    )
    assert bytes_ < 0.3 * 4 * 2 * 64 * 64, (
        f"your module keeps {bytes_} bytes for {2 * 64 * 64} weights, expected about one for each"
    )


def test_no_float_weight_is_kept_anywhere() -> None:
    """Not in the module, a closure, a cache, a graph of autograd, an array or a list of numbers."""
    side, x = 512, torch.randn(2, 512)
    large(8, torch.randn(2, 8))  # what is created once, whatever the layers are
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

    assert not kept, "your layer keeps the given layer alive, with its float weight"
    assert held < 0.3 * floats, (
        f"once model and prepared are deleted, {held:,} bytes of tensors are alive for the "
        f"{side}x{side} weights of two layers: only {floats // 4:,} are their integers. What holds "
        f"the floats?"
    )
    assert others < 0.3 * floats, f"{others:,} bytes of arrays and Python objects are still alive"


def test_one_module_at_two_places() -> None:
    """Each call uses the scale of its own input."""
    check(Mixed(), torch.randn(2, 2, 4, 4, dtype=torch.float64), layers=3)


def test_padding_may_be_a_word() -> None:
    """``nn.Conv2d`` takes "same" and "valid" besides numbers."""
    for padding in ("same", "valid"):
        layer = nn.Conv2d(2, 3, 3, padding=padding)
        check(nn.Sequential(layer), torch.randn(2, 2, 5, 5, dtype=torch.float64), layers=1)


def test_the_result_has_the_dtype_of_the_weight() -> None:
    """For a float64 model it is float64, for a bfloat16 one bfloat16, though sums are int32."""
    for dtype in (torch.float64, torch.bfloat16):
        x = torch.randn(3, 4, dtype=dtype)
        _, prepared = calibrated(nn.Sequential(nn.Linear(4, 2)).to(dtype), x)
        assert dtype is convert(prepared)(x).dtype, (
            f"your module returns {convert(prepared)(x).dtype} for a model in {dtype}: the result "
            "should have the dtype of the weight"
        )


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

    assert (error <= 1.001 * bound + 1e-9).all(), (
        f"the error is {error.max()}, above the bound {bound.max()}"
    )


def test_models(zoo: Callable[[str], Any]) -> None:
    """Integers and rounded floats agree, and both are near the float model."""
    model, inputs = zoo("resnet")
    inputs = tuple(x.double() for x in inputs)
    count = sum(type(m) in {nn.Linear, nn.Conv2d} for m in model.modules())
    converted = check(model, *inputs, layers=count)
    with torch.no_grad():
        expected, found = model(*inputs), converted(*inputs)
    noise = ((found - expected).norm() / (expected - expected.mean()).norm()).item()

    assert noise < 0.5, f"the error is {noise:.1%} of the result, expected less than 50%"


def test_nothing_ready_made_is_called() -> None:
    """PyTorch has kernels that quantise; they may not be called: you are writing them."""
    x = torch.randn(3, 4)
    _, prepared = calibrated(nn.Sequential(nn.Linear(4, 2)), x)
    kernels = ("aten::fake_quantize", "aten::_fake_quantize", "aten::quantize_per", "quantized::")
    with forbids(kata, "torch.ao", "torch.quantization", operators=kernels) as fresh:
        fresh.convert(prepared)(x)


class Rounding(fx.Interpreter):
    """Runs a prepared module, in which each layer computes on numbers that PyTorch has rounded."""

    def run_node(self, n: fx.Node) -> Any:
        """Round before each layer, and let observers see nothing."""
        module = called(self.module, n)
        if isinstance(module, Observer):
            return self.env[n.args[0]]
        if n in layers(self.module):
            seen: Any = called(self.module, n.args[0])
            return rounded(module, self.env[n.args[0]], seen.low.item(), seen.high.item())
        return super().run_node(n)


def test_graphs_read_so() -> None:
    """The graph has the same nodes as with observers; each layer call has its own module."""
    _, prepared = calibrated(Attention(), torch.randn(3, 4), torch.randn(4))
    assert_expected_inline(
        graph_text(convert(prepared)),
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


def test_the_prepared_module_is_left_alone() -> None:
    """The given module keeps its graph, its submodules, and its results."""
    x = torch.randn(3, 4), torch.randn(4)
    module, prepared = calibrated(Attention(), *x)
    text, children = graph_text(prepared), dict(prepared.named_modules())
    expected = module(*x)
    converted = convert(prepared)
    converted(*x)

    assert text == graph_text(prepared), "the given module's graph changed: copy it"
    assert children == dict(prepared.named_modules()), (
        "the given module's submodules changed: add the new ones to the new module"
    )
    torch.testing.assert_close(prepared(*x), expected, rtol=0, atol=0)
    left = [name for name, _ in converted.named_modules() if "observer" in name or "heads" in name]
    assert [] == left, f"nobody calls {left} any more: delete unused submodules"
