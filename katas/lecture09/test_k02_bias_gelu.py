"""Tests of k02_bias_gelu: a fused operator, its gradients, and that it is fused."""

from __future__ import annotations

import ctypes
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._python_dispatch import TorchDispatchMode

from katas import source
from plugins.kit import forbids_tokens
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")
# The steps of the lab.
step_one = pytest.mark.step(1, "forward")
step_two = pytest.mark.step(2, "backward")
step_three = pytest.mark.step(3, "without data")
step_four = pytest.mark.step(4, "the autograd function")
step_five = pytest.mark.step(5, "second derivatives")

FORWARD = "lecture09_k02.bias_gelu.default"
BACKWARD = "lecture09_k02.bias_gelu_backward.default"
SHAPES = [(3,), (1, 1), (2, 3, 4), (0, 3), (3, 0), (0,), (2, 0, 3)]
CHECKS = ["test_schema", "test_autograd_registration", "test_faketensor"]
# Operators that allocate, fill and inspect tensors. Arithmetic is up to the kernel.
MEMORY = re.compile(
    r"aten::((new_)?(empty|zeros|ones|full)(_like|_strided|_permuted)?|zero_|fill_|detach|alias"
    r"|contiguous|view|reshape|_unsafe_view|as_strided|slice|select|unsqueeze|squeeze|resize_|set_)$"
)
# Kernels that bypass the dispatcher, and guards that hide calls from the tests.
HIDDEN = (
    *("at::gelu", "at::gelu_out", "at::tanh", "at::redispatch", "redispatch", "redispatchBoxed"),
    *("ExcludeDispatchKeyGuard", "IncludeDispatchKeyGuard", "ForceDispatchKeyGuard"),
    *("TorchDispatchModeTLS", "PythonTorchFunctionTLS", "PythonDispatcherTLS"),
)
# Larger than what malloc keeps for reuse: 36 MiB of float32.
LARGE = (9 * 2**10, 2**10)
STATUS = Path("/proc/self/status")


class Log(TorchDispatchMode):
    """Records every operator that reaches a kernel below autograd."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Record the name and run the operator; ignore detach, called when a tensor is saved."""
        if func is not torch.ops.aten.detach.default:
            self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def reference(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return the result of PyTorch's two operators in float64."""
    return F.gelu(x.double() + bias.double(), approximate="tanh")


def gradients(
    grad: torch.Tensor, x: torch.Tensor, bias: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients of PyTorch's two operators in float64."""
    with torch.enable_grad():
        inputs = [tensor.detach().double().requires_grad_() for tensor in (x, bias)]
        found = torch.autograd.grad(reference(*inputs), inputs, grad.double())
    return found[0], found[1]


def leaves(*shape: int, x: bool = True, bias: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a random input and bias, in float64, that require grad as asked."""
    return (
        torch.randn(shape, dtype=torch.float64).requires_grad_(x),
        torch.randn(shape[-1], dtype=torch.float64).requires_grad_(bias),
    )


def work(function: Callable[[], object]) -> tuple[set[str], int]:
    """Return the operators of ATen that a call runs inside, and the bytes it allocates."""
    function()
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        kept = function()
    del kept
    events = [event for event in profile.events() if event.name.startswith("aten::")]
    allocated = sum(max(event.self_cpu_memory_usage, 0) for event in events)
    return {event.name for event in events}, allocated


def computing(called: set[str]) -> list[str]:
    """Return the operators that do more than allocate tensors."""
    return sorted(name for name in called if not MEMORY.match(name))


def growth(function: Callable[[], object]) -> int:
    """Return the most bytes by which the process grows during a call."""

    def kibibytes(key: str) -> int:
        found = re.search(rf"{key}:\s+(\d+)", STATUS.read_text(encoding="utf-8"))
        assert found, f"{STATUS} has no {key}"
        return int(found[1])

    ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except OSError as error:
        pytest.skip(f"the most memory of a process is asked of Linux's /proc: {error}")
    before = kibibytes("VmRSS")
    kept = function()
    most = kibibytes("VmHWM")
    del kept
    return 1024 * (most - before)


@step_one
def test_zero_and_the_ends(extension: Extension) -> None:
    """GELU keeps 0 and large numbers, and maps large negative numbers to 0."""
    x = torch.tensor([-3000.0, -30.0, 0.0, 30.0, 3000.0, math.nan])

    *found, last = extension.op("bias_gelu")(x, torch.zeros(6)).tolist()
    assert [0.0, 0.0, 0.0, 30.0, 3000.0] == found, (
        f"gelu of -3000, -30, 0, 30 and 3000: expected 0, 0, 0, 30, 3000, yours {found}"
    )
    assert math.isnan(last), f"gelu of NaN: expected NaN, yours is {last}, which hides an error"


@step_one
def test_the_bias_is_added_first(extension: Extension) -> None:
    """Each row gets the bias: element i of a row gets bias[i]."""
    x = torch.zeros(2, 3)
    output = extension.op("bias_gelu")(x, torch.tensor([10.0, 20.0, 30.0]))

    found = output.tolist()
    assert [[10.0, 20.0, 30.0]] * 2 == found, (
        f"expected both rows of 0 to become 10, 20, 30, yours {found}"
    )


@step_one
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_is_what_two_operators_give(extension: Extension, dtype: torch.dtype) -> None:
    """The constants belong to the tanh approximation; erf differs from it by up to 5e-4."""
    x, bias = 3 * torch.randn(50, 7, dtype=dtype), torch.randn(7, dtype=dtype)
    output = extension.op("bias_gelu")(x, bias)

    assert dtype == output.dtype, f"your output is {output.dtype} for inputs of {dtype}"
    # float64 stays float64 all the way: 1e-12, where a float in between leaves 1e-7.
    bound = 1e-12 if dtype is torch.float64 else 1e-5
    expected = F.gelu(x + bias, approximate="tanh")
    torch.testing.assert_close(output, expected, rtol=bound, atol=bound)


@step_one
def test_an_element_is_rounded_once(extension: Extension) -> None:
    """A sum of float32 is rounded, and for negative z the tanh near -1 loses most of its bits."""
    x, bias = torch.linspace(-5, 3, 1400).reshape(200, 7), torch.linspace(-0.3, 0.3, 7)
    output = extension.op("bias_gelu")(x, bias)

    torch.testing.assert_close(
        output.double(),
        reference(x, bias),
        rtol=1e-7,
        atol=0,
        msg=lambda text: f"compute in double, x + bias too, and round once, when you store: {text}",
    )


@step_one
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_shape_will_do(extension: Extension, shape: tuple[int, ...]) -> None:
    """Input may have one row, many dims, no rows, or rows without elements."""
    x, bias = leaves(*shape, x=False, bias=False)
    output = extension.op("bias_gelu")(x, bias)

    torch.testing.assert_close(output, reference(x, bias))


TRANSPOSED = torch.linspace(-3, 3, 12, dtype=torch.float64).view(3, 4).t()


@st.composite
def strided(draw: st.DrawFn, *, count: int) -> list[torch.Tensor]:
    """Draw tensors of one shape: permuted, with steps and offsets, or expanded; then a bias."""
    sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    tensors = []
    for size in [sizes] * count + [sizes[-1:]]:
        generator = torch.Generator().manual_seed(draw(st.integers(0, 1000)))
        step, offset = draw(st.integers(1, 2)), draw(st.integers(0, 2))
        order = draw(st.permutations(range(len(size))))
        shape = [offset + step * size[dim] for dim in order]
        x = torch.randn(shape, generator=generator, dtype=torch.float64)
        x = x[tuple(slice(offset, None, step) for _ in size)]
        x = x.permute([order.index(dim) for dim in range(len(size))])
        if draw(st.booleans()) and x.numel():
            x = x[..., :1].expand(size)
        tensors.append(x)
    return tensors


@step_one
@given(tensors=strided(count=1))
@example(tensors=[TRANSPOSED, TRANSPOSED[0]])
def test_any_strides_will_do(extension: Extension, tensors: list[torch.Tensor]) -> None:
    """Inputs may have any strides, and are not changed; the output is row-major."""
    bias_gelu = extension.op("bias_gelu")
    with unchanged(input=tensors[0], bias=tensors[1]):
        output = bias_gelu(*tensors)
    with unchanged(output=output):
        # Other values, so that a reused output buffer is noticed.
        bias_gelu(tensors[0] + 1, tensors[1])

    torch.testing.assert_close(output, reference(*tensors), rtol=1e-12, atol=1e-12)
    assert output.is_contiguous(), f"yours has strides {output.stride()}, expected row-major ones"


@step_one
def test_forward_is_fused(extension: Extension) -> None:
    """Only the output is allocated, and no operator of ATen computes."""
    bias_gelu = extension.op("bias_gelu")
    x, bias = torch.randn(64, 32), torch.randn(32)
    called, allocated = work(lambda: bias_gelu(x, bias))

    found = computing(called)
    assert [] == found, f"your kernel calls {found}, expected no ATen operator: write the loop"
    assert 4 * 64 * 32 == allocated, (
        f"{allocated} bytes were allocated for an output of {4 * 64 * 32}: each tensor between "
        "input and output is written to memory and read again"
    )
    forbids_tokens(source("katas.lecture09", "csrc/k02_bias_gelu.cpp"), *HIDDEN)


@step_one
def test_forward_takes_one_pass(extension: Extension) -> None:
    """There is no buffer for z between two loops, whoever allocates it."""
    bias_gelu = extension.op("bias_gelu")
    x, bias = torch.ones(LARGE), torch.zeros(LARGE[1])
    bias_gelu(x[:1], bias)
    most, output = growth(lambda: bias_gelu(x, bias)), 4 * x.numel()

    assert most < 1.25 * output, (
        f"your call took up to {most / 2**20:.0f} MiB, its output takes {output / 2**20:.0f}: is z"
        " kept for a second loop, in a std::vector perhaps?"
    )


@step_two
def test_the_slope_at_zero_and_at_the_ends(extension: Extension) -> None:
    """The slope is a half at zero, since gelu(x) - gelu(-x) is x; at the ends it is 0 and 1."""
    backward = extension.op("bias_gelu_backward")
    x = torch.tensor([[-3000.0, -30.0, 0.0, 30.0, 3000.0, math.nan]])
    for_input, for_bias = backward(torch.ones(1, 6), x, torch.zeros(6))

    for name, found in (("grad_input", for_input[0]), ("grad_bias", for_bias)):
        assert [0.0, 0.0, 0.5, 1.0, 1.0] == found[:5].tolist(), (
            f"{name} at -3000, -30, 0, 30 and 3000: expected 0, 0, 0.5, 1, 1, yours is"
            f" {found[:5].tolist()}"
        )
        assert found[5].isnan(), f"{name} at NaN: expected NaN, yours is {found[5]}"


@step_two
def test_backward_is_what_autograd_gives(extension: Extension) -> None:
    """The product rule has a second term: tanh depends on z too."""
    x, bias = leaves(50, 7, x=False, bias=False)
    grad = torch.randn_like(x)
    found = extension.op("bias_gelu_backward")(grad, x, bias)

    torch.testing.assert_close(
        found,
        gradients(grad, x, bias),
        rtol=1e-12,
        atol=1e-12,
        msg=lambda text: (
            "item 0 is grad_input, for which tanh is differentiated as well; item 1 is grad_bias, "
            f"its sum over the rows, of doubles that have not been rounded: {text}"
        ),
    )


@step_two
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_backward_of_any_shape(extension: Extension, shape: tuple[int, ...]) -> None:
    """The gradient of bias is summed over all dims but the last; without rows it is 0."""
    x, bias = leaves(*shape, x=False, bias=False)
    grad = torch.randn_like(x)
    found = extension.op("bias_gelu_backward")(grad, x, bias)

    torch.testing.assert_close(found, gradients(grad, x, bias))


@step_two
def test_backward_is_fused(extension: Extension) -> None:
    """Only the two gradients are allocated."""
    backward = extension.op("bias_gelu_backward")
    grad, x, bias = torch.randn(64, 32), torch.randn(64, 32), torch.randn(32)
    called, allocated = work(lambda: backward(grad, x, bias))

    found = computing(called)
    assert [] == found, f"your kernel calls {found}, expected no ATen operator: write the loop"
    assert 4 * 65 * 32 == allocated, (
        f"{allocated} bytes were allocated for gradients of {4 * 65 * 32}"
    )


@step_two
def test_backward_takes_one_pass(extension: Extension) -> None:
    """The loop also sums grad_bias: there is no second loop over a kept gradient."""
    backward = extension.op("bias_gelu_backward")
    x, bias = torch.ones(LARGE), torch.zeros(LARGE[1])
    backward(x[:1], x[:1], bias)
    most, output = growth(lambda: backward(x, x, bias)), 4 * x.numel()

    assert most < 1.25 * output, (
        f"your call took up to {most / 2**20:.0f} MiB, its results take {output / 2**20:.0f}: a"
        " vector as long as bias is enough for the sums"
    )


@step_two
def test_gradients_are_rounded_once(extension: Extension) -> None:
    """The sum of 20000 rows is rounded once too: in float32 each addition would lose a few bits."""
    x, bias = 2 * torch.randn(20000, 2), torch.randn(2)
    grad = 1 + torch.rand(20000, 2)
    for_input, for_bias = extension.op("bias_gelu_backward")(grad, x, bias)
    expected = gradients(grad, x, bias)

    assert torch.float32 == for_input.dtype == for_bias.dtype, (
        f"your gradients are {for_input.dtype} and {for_bias.dtype}, input is torch.float32"
    )
    torch.testing.assert_close(for_bias.double(), expected[1], rtol=1e-7, atol=0)
    torch.testing.assert_close(for_input.double(), expected[0], rtol=1e-7, atol=1e-12)


@step_two
def test_a_sum_is_rounded_once(extension: Extension) -> None:
    """With three equal rows, three times a rounded number is not the rounded triple."""
    x, bias, grad = torch.randn(1, 2000), torch.randn(2000), torch.rand(1, 2000)
    rows = (grad.repeat(3, 1), x.repeat(3, 1), bias)
    _, for_bias = extension.op("bias_gelu_backward")(*rows)
    off = (for_bias.double() / gradients(*rows)[1] - 1).abs().max().item()

    assert off < 2**-24 * 1.001, (
        f"off by {off / 2**-24:.2f} float32 rounding errors: accumulate in double"
    )


@step_two
@given(tensors=strided(count=2))
@example(tensors=[TRANSPOSED, TRANSPOSED, TRANSPOSED[0]])
def test_backward_of_any_strides(extension: Extension, tensors: list[torch.Tensor]) -> None:
    """Gradients may have any strides: that of a sum, for example, has strides of 0."""
    backward = extension.op("bias_gelu_backward")
    with unchanged(grad=tensors[0], input=tensors[1], bias=tensors[2]):
        found = backward(*tensors)
    with unchanged(earlier=found):
        backward(tensors[0] + 1, *tensors[1:])

    torch.testing.assert_close(found, gradients(*tensors), rtol=1e-12, atol=1e-12)
    strides = [tensor.stride() for tensor in found]
    assert all(tensor.is_contiguous() for tensor in found), (
        f"expected contiguous gradients, yours have the strides {strides}"
    )


@step_three
@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_each_kernel_checks(extension: Extension, place: str) -> None:
    """Call the given check: what fails on the CPU must fail on meta tensors too."""
    forward, backward = extension.op("bias_gelu"), extension.op("bias_gelu_backward")
    x, bias = torch.zeros(2, 3, device=place), torch.zeros(3, device=place)
    for wrong in (bias[:2], bias[0], x):
        with pytest.raises(ValueError, match="expected a bias as long as the rows"):
            forward(x, wrong)
        with pytest.raises(ValueError, match="expected a bias as long as the rows"):
            backward(x, x, wrong)
    with pytest.raises(TypeError, match="expected tensors of float32 or of float64"):
        forward(x.double(), bias)
    with pytest.raises(ValueError, match="expected a gradient like input"):
        backward(x[:1], x, bias)


@step_three
def test_meta_kernels_look_like_the_others(extension: Extension) -> None:
    """Meta kernels return shapes, dtypes and strides without data, even for 8 TB."""
    forward, backward = extension.op("bias_gelu"), extension.op("bias_gelu_backward")
    for x, bias in ((torch.rand(4, 3).t(), torch.rand(4)), (torch.rand(3).double(),) * 2):
        real = forward(x, bias), *backward(x, x, bias)
        far = x.to("meta"), bias.to("meta")
        fake = forward(*far), *backward(far[0], *far)
        for one, other in zip(real, fake, strict=True):
            real_one = one.shape, one.dtype, one.stride(), "meta"
            found = other.shape, other.dtype, other.stride(), other.device.type
            assert real_one == found, f"the CPU kernel returns {real_one}, your Meta kernel {found}"
    huge = torch.empty(2**20, 2**20, dtype=torch.float64, device="meta")
    found = forward(huge, huge[0]).shape
    assert huge.shape == found, f"input is 2^20 by 2^20, but your output is {tuple(found)}"


@step_three
def test_symbols_stay_symbols(extension: Extension) -> None:
    """A size that is read as an int is fixed: every other size needs a new compilation."""
    forward, backward = extension.op("bias_gelu"), extension.op("bias_gelu_backward")
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x, bias = (mode.from_tensor(leaf.detach()) for leaf in leaves(5, 3))
    with mode:
        for result in (forward(x, bias), *backward(x, x, bias)):
            sizes = list(result.shape)
            assert all(isinstance(size, torch.SymInt) for size in sizes), (
                f"expected symbols, yours {sizes}"
            )
            assert all(size.node.maybe_as_int() is None for size in sizes), (
                f"expected symbols, yours {sizes}"
            )


@step_four
def test_gradients_arrive(extension: Extension) -> None:
    """The autograd kernel connects the two kernels."""
    x, bias = leaves(5, 3)
    output = extension.op("bias_gelu")(x, bias)
    grad = torch.randn_like(output)
    torch.testing.assert_close(output, reference(x, bias))
    output.backward(grad)

    torch.testing.assert_close((x.grad, bias.grad), gradients(grad, x, bias))


@step_four
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 3), (0, 3)], ids=str)
def test_gradcheck_agrees(extension: Extension, shape: tuple[int, ...]) -> None:
    """Compare with finite differences, for both inputs and for each alone."""
    bias_gelu = extension.op("bias_gelu")
    for x, bias in ((True, True), (True, False), (False, True)):
        assert torch.autograd.gradcheck(bias_gelu, leaves(*shape, x=x, bias=bias)), (
            f"backward and finite differences do not agree: x requires grad: {x}, bias: {bias}"
        )


@step_four
def test_the_graph_has_one_node(extension: Extension) -> None:
    """The output has a grad_fn of BiasGelu, and none where no gradient is needed."""
    bias_gelu = extension.op("bias_gelu")
    x, bias = leaves(2, 3)
    node = bias_gelu(x, bias).grad_fn

    assert node is not None, "the output has no grad_fn, so backward would not call your function"
    before = [getattr(edge[0], "variable", None) for edge in node.next_functions]
    assert "BiasGelu" in node.name(), f"expected a node of BiasGelu, yours is {node.name()}"
    assert [id(x), id(bias)] == [id(leaf) for leaf in before], (
        f"expected the leaves x and bias before the node, yours: {node.next_functions}"
    )
    with torch.no_grad():
        assert bias_gelu(x, bias).grad_fn is None, (
            "under no_grad() your output has a grad_fn, expected none"
        )
    assert bias_gelu(x.detach(), bias.detach()).grad_fn is None, (
        "no input requires grad, but your output has a grad_fn"
    )


@step_four
def test_only_the_inputs_are_saved(extension: Extension) -> None:
    """Save the inputs: their sum, or a contiguous copy, would have to live until backward."""
    x = torch.randn(3, 2, dtype=torch.float64).t().requires_grad_()
    bias = torch.randn(6, dtype=torch.float64)[::2].requires_grad_()
    saved: list[int] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor.data_ptr())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = extension.op("bias_gelu")(x, bias)
    names = {x.data_ptr(): "input", bias.data_ptr(): "bias", output.data_ptr(): "output"}
    found = sorted(names.get(pointer, "another tensor, or a copy") for pointer in saved)

    assert ["bias", "input"] == found, f"save_for_backward got {found}, expected input and bias"


@step_four
@pytest.mark.parametrize("changed", ["input", "bias"])
def test_a_saved_tensor_must_not_change(extension: Extension, changed: str) -> None:
    """The version counter reveals a change, if the tensor was saved by save_for_backward."""
    x, bias = leaves(2, 3)
    result = extension.op("bias_gelu")(x, bias).sum()
    with torch.no_grad():
        {"input": x, "bias": bias}[changed].mul_(2)

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward()


@step_four
def test_each_direction_is_one_operator(extension: Extension) -> None:
    """One kernel runs forward and one backward: each calls contiguous itself where it needs to."""
    bias_gelu = extension.op("bias_gelu")
    x, bias = leaves(2, 3)
    transposed = torch.randn(3, 2, dtype=torch.float64).t().requires_grad_()
    for leaf in (x, transposed):
        with Log() as log:
            output = bias_gelu(leaf, bias)
        assert [FORWARD] == log.names, f"forward ran {log.names}, expected {FORWARD} alone"
        # The gradient of a sum is one element, expanded.
        for grad in (torch.randn(2, 3).double(), torch.ones((), dtype=torch.float64).expand(2, 3)):
            with Log() as log:
                torch.autograd.grad(output, (leaf, bias), grad, retain_graph=True)
            assert [BACKWARD] == log.names, (
                f"backward ran {log.names} for a gradient of strides {grad.stride()},"
                f" expected {BACKWARD} alone"
            )


@step_five
def test_a_recorded_backward_gives_the_same(extension: Extension) -> None:
    """A recorded backward gives the same gradients, with a history."""
    bias_gelu = extension.op("bias_gelu")
    x, bias = leaves(4, 2, 3)
    grad = torch.randn(4, 2, 3, dtype=torch.float64)
    found = torch.autograd.grad(bias_gelu(x, bias), (x, bias), grad, create_graph=True)

    torch.testing.assert_close(tuple(one.detach() for one in found), gradients(grad, x, bias))
    assert all(one.requires_grad for one in found), (
        "your gradients have no history: a second derivative would be lost silently"
    )


@step_five
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 3), (0, 3)], ids=str)
def test_gradgradcheck_agrees(extension: Extension, shape: tuple[int, ...]) -> None:
    """Check second derivatives, with respect to both inputs and to each alone."""
    bias_gelu = extension.op("bias_gelu")
    for x, bias in ((True, True), (True, False), (False, True)):
        assert torch.autograd.gradgradcheck(bias_gelu, leaves(*shape, x=x, bias=bias)), (
            "second derivatives and finite differences do not agree: make a recorded backward of "
            "operators that have derivatives"
        )


@pytest.mark.parametrize("check", [*CHECKS, "test_aot_dispatch_dynamic"])
def test_opcheck_agrees(extension: Extension, check: str) -> None:
    """PyTorch's opcheck passes: schema, keys, fake tensors, traced forward and backward."""
    bias_gelu = extension.op("bias_gelu").default
    for arguments in (leaves(4, 3), leaves(3, x=False, bias=False)):
        bias_gelu(*arguments)
        found = torch.library.opcheck(bias_gelu, arguments, test_utils=check)

        assert {check: "SUCCESS"} == found, "PyTorch's opcheck does not accept the operator"


@pytest.mark.parametrize("check", CHECKS)
def test_opcheck_agrees_about_backward(extension: Extension, check: str) -> None:
    """PyTorch's opcheck accepts the backward operator too."""
    backward = extension.op("bias_gelu_backward").default
    x, bias = leaves(4, 3, x=False, bias=False)
    backward(x, x, bias)

    assert {check: "SUCCESS"} == torch.library.opcheck(backward, (x, x, bias), test_utils=check), (
        "PyTorch's opcheck does not accept the backward operator"
    )
