"""Tests of k18_autograd: the derivatives of a recurrence, the first and the second."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

SCAN = "lecture04_k18.linear_scan.default"


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
        """Record the name and run the operator; saving and unpacking only detach, which is free."""
        if func is not torch.ops.aten.detach.default:
            self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def scan(decay: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Compute the recurrence, one step at a time, in operators that autograd knows."""
    steps: list[torch.Tensor] = []
    for t in range(len(x)):
        steps.append(x[t] if t == 0 else decay[t] * steps[-1] + x[t])
    return torch.stack(steps) if steps else torch.empty_like(x)


def leaves(*shape: int, decay: bool = True, x: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    """Return random float64 decays and inputs, which require grad or not."""
    return (
        torch.rand(shape, dtype=torch.float64).requires_grad_(decay),
        torch.randn(shape, dtype=torch.float64).requires_grad_(x),
    )


def expect(expected: list[float], yours: torch.Tensor | None, why: str) -> None:
    """Compare an exact result with the expected one."""
    found = None if yours is None else yours.tolist()
    assert expected == found, f"yours      {found}\nexpected   {expected}\n{why}"


def test_the_values_are_the_operators(extension: Extension) -> None:
    """An autograd kernel changes no result: 1, then half of it plus 2, then half of that plus 4."""
    decay = torch.tensor([9.0, 0.5, 0.5], requires_grad=True)
    output = extension.op("linear_scan")(decay, torch.tensor([1.0, 2.0, 4.0]))

    expect([1.0, 2.5, 5.25], output, "Forward returns what the operator below autograd returns.")


def test_an_input_lives_on_in_later_outputs(extension: Extension) -> None:
    """With decays of a half, 1 stays 1 in its own step, 1/2 in the next and 1/4 after that."""
    decay = torch.tensor([9.0, 0.5, 0.5])
    x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    extension.op("linear_scan")(decay, x).sum().backward()

    expect([1.75, 1.5, 1.0], x.grad, "The gradient of input is `carried`, from the last step on.")


def test_a_decay_multiplies_the_output_before(extension: Extension) -> None:
    """A decay's gradient is the previous output times the carried gradient; the first is 0."""
    decay = torch.tensor([9.0, 0.5, 0.25], requires_grad=True)
    x = torch.tensor([1.0, 2.0, 4.0])
    extension.op("linear_scan")(decay, x).sum().backward()

    # Outputs 1, 2.5, ...; carried back ..., 1.25, 1.
    expect([0.0, 1.25, 2.5], decay.grad, "carried is [.., 1.25, 1], output is [1, 2.5, ..].")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_those_of_the_steps(extension: Extension, dtype: torch.dtype) -> None:
    """Gradients equal those of autograd following each step, in the inputs' dtype."""
    decay, x = (leaf.detach().to(dtype).requires_grad_() for leaf in leaves(5, 3))
    weight = torch.randn(5, 3, dtype=dtype)
    found = torch.autograd.grad((extension.op("linear_scan")(decay, x) * weight).sum(), (decay, x))
    expected = torch.autograd.grad((scan(decay, x) * weight).sum(), (decay, x))

    for name, yours, theirs in zip(("decay", "input"), found, expected, strict=True):
        says = f"the gradient of {name}, yours and that of the steps one by one\n".__add__
        torch.testing.assert_close(yours, theirs, msg=says)


@pytest.mark.parametrize("shape", [(0,), (0, 2), (3, 0), (1,), (1, 2)], ids=str)
def test_no_steps_and_one_step(extension: Extension, shape: tuple[int, ...]) -> None:
    """Nothing is carried: the input's gradient is the output's, and the decay's gradient is 0."""
    decay, x = leaves(*shape)
    output = extension.op("linear_scan")(decay, x)
    of_decay, of_x = torch.autograd.grad(output, (decay, x), torch.full(shape, 3.0).double())

    says = f"the gradient of decay for the shape {shape}: expected zeros\n".__add__
    torch.testing.assert_close(of_decay, torch.zeros(shape).double(), rtol=0, atol=0, msg=says)
    says = f"the gradient of input for the shape {shape}: expected that of output\n".__add__
    torch.testing.assert_close(of_x, torch.full(shape, 3.0).double(), rtol=0, atol=0, msg=says)


def test_the_first_decay_is_not_read(extension: Extension) -> None:
    """NaN in it must not spoil a gradient, as 0 times NaN would; nor may the last output."""
    for last in (4.0, float("inf")):
        decay = torch.tensor([float("nan"), 0.5, 0.5], requires_grad=True)
        x = torch.tensor([1.0, 2.0, last], requires_grad=True)
        extension.op("linear_scan")(decay, x).sum().backward()

        why = f"decay[0] is NaN, the last output {last}: the row for decay[0] is made of zeros."
        expect([1.75, 1.5, 1.0], x.grad, why)
        expect([0.0, 1.5, 2.5], decay.grad, why)


@st.composite
def strided(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw decays and inputs of one shape: permuted, with steps and offsets."""
    sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=2))
    pair = []
    for _ in range(2):
        generator = torch.Generator().manual_seed(draw(st.integers(0, 1000)))
        step, offset = draw(st.integers(1, 2)), draw(st.integers(0, 2))
        order = draw(st.permutations(range(len(sizes))))
        shape = [0] * len(sizes)
        for place, dim in enumerate(order):
            shape[place] = offset + step * sizes[dim]
        x = torch.randn(shape, generator=generator, dtype=torch.float64)
        x = x[tuple(slice(offset, None, step) for _ in sizes)]
        x = x.permute([order.index(dim) for dim in range(len(sizes))])
        pair.append(x)
    return pair[0], pair[1]


@given(pair=strided())
def test_gradgradcheck_agrees(
    extension: Extension, pair: tuple[torch.Tensor, torch.Tensor]
) -> None:
    """Finite differences agree, for backward consists of differentiable operators."""
    linear_scan = extension.op("linear_scan")
    inputs = [x.detach().requires_grad_() for x in pair]
    assert torch.autograd.gradcheck(linear_scan, inputs), (
        "the first derivatives differ from finite differences"
    )
    assert torch.autograd.gradgradcheck(linear_scan, inputs), (
        "the second derivatives differ from finite differences"
    )


@pytest.mark.parametrize("strides", ["contiguous", "expanded", "permuted", "stepped"])
def test_incoming_gradients_have_any_strides(extension: Extension, strides: str) -> None:
    """The gradients of a sum have strides of 0; no gradient may be changed."""
    decay, x = leaves(3, 4)
    incoming = {
        "contiguous": torch.randn(3, 4).double(),
        "expanded": torch.full((), 2.0).double().expand(3, 4),
        "permuted": torch.randn(4, 3).double().t(),
        "stepped": torch.randn(6, 8).double()[::2, ::2],
    }[strides]
    output = extension.op("linear_scan")(decay, x)
    with unchanged(incoming=incoming, output=output):
        found = torch.autograd.grad(output, (decay, x), incoming)
    expected = torch.autograd.grad(scan(decay, x), (decay, x), incoming)

    for name, yours, theirs in zip(("decay", "input"), found, expected, strict=True):
        says = f"the gradient of {name}, for a gradient of output that is {strides}\n".__add__
        torch.testing.assert_close(yours, theirs, msg=says)


def test_the_graph_has_one_node(extension: Extension) -> None:
    """Without gradients there is no node: nothing is recorded or kept."""
    linear_scan = extension.op("linear_scan")
    decay, x = leaves(3)
    node = linear_scan(decay, x).grad_fn

    assert node is not None, "the output has no grad_fn: apply Scan"
    assert "Scan" in node.name(), (
        f"the node is {node.name()}, not Scan: autograd recorded the operators one by one"
    )
    found = [getattr(edge[0], "variable", None) for edge in node.next_functions]
    assert [id(decay), id(x)] == [id(leaf) for leaf in found], (
        f"the inputs of the node are {found}, expected decay and x"
    )
    with torch.no_grad():
        assert linear_scan(decay, x).grad_fn is None, "the output has a graph under no_grad"
    plain = linear_scan(decay.detach(), x.detach())
    assert plain.grad_fn is None, "no input requires a gradient, but there is a graph"


def test_forward_calls_the_kernel_below(extension: Extension) -> None:
    """Forward calls it once, and nothing else: that kernel handles any strides."""
    decay, x = (leaf.detach().t().requires_grad_() for leaf in leaves(3, 2))
    with Log() as log:
        extension.op("linear_scan")(decay, x)

    assert [SCAN] == log.names, f"forward called {log.names}, expected {[SCAN]}"


@pytest.mark.parametrize(
    ("decay_needs", "x_needs", "expected"),
    [
        (True, True, ["decay", "output"]),
        (True, False, ["decay", "output"]),
        (False, True, ["decay"]),
        (False, False, []),
    ],
)
def test_what_backward_needs_is_saved(
    extension: Extension,
    decay_needs: bool,  # noqa: FBT001 - a case
    x_needs: bool,  # noqa: FBT001 - a case
    expected: list[str],
) -> None:
    """Nothing else is saved: not input, and output only for the gradient of decay."""
    decay, x = leaves(3, decay=decay_needs, x=x_needs)
    saved: list[int] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor.data_ptr())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = extension.op("linear_scan")(decay, x)
    names = {decay.data_ptr(): "decay", x.data_ptr(): "input", output.data_ptr(): "output"}
    found = sorted(names.get(pointer, "another tensor, or a copy") for pointer in saved)

    assert expected == found, (
        f"your code saves {found}, expected {expected}: the gradient of input needs decay,"
        " that of decay needs output as well"
    )
    output = extension.op("linear_scan")(decay, x)
    storage = StorageWeakRef(output.untyped_storage())
    del output
    assert storage.expired(), (
        "your node keeps output elsewhere too: output and its node keep each other alive forever"
    )


@pytest.mark.parametrize("changed", ["decay", "output"])
def test_a_saved_tensor_must_not_change(extension: Extension, changed: str) -> None:
    """If it was saved with save_for_backward, its version counter shows a change."""
    decay, x = leaves(3)
    output = extension.op("linear_scan")(decay, x)
    result = output.sum()
    with torch.no_grad():
        {"decay": decay, "output": output}[changed].mul_(2)

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward()


def test_backward_scans_once(extension: Extension) -> None:
    """Both gradients come from one carried tensor."""
    decay, x = leaves(3)
    output = extension.op("linear_scan")(decay, x).sum()
    with Log() as log:
        output.backward()

    yours = log.names.count(SCAN)
    assert yours == 1, f"backward called linear_scan {yours} times, expected 1: {log.names}"


def test_what_is_not_asked_for_is_not_computed(extension: Extension) -> None:
    """For only the input's gradient, backward needs fewer operators and no output."""
    linear_scan = extension.op("linear_scan")
    decay, x = leaves(3)
    counts = {}
    for name, inputs in (("both", (decay, x)), ("input", (x,)), ("constant decay", (x,))):
        output = linear_scan(decay.detach() if name == "constant decay" else decay, x).sum()
        with Log() as log:
            torch.autograd.grad(output, inputs)
        counts[name] = len(log.names)

    message = f"operators that backward called: {counts}. Check ctx->needs_input_grad(0)"
    assert counts["input"] < counts["both"], message
    assert counts["input"] == counts["constant decay"], message


class Blocked(torch.autograd.Function):
    """Passes its input on, but no gradient back."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return a copy."""
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> None:
        """Return nothing, which is an undefined gradient in C++."""


def test_an_undefined_gradient_stays_undefined(extension: Extension) -> None:
    """An undefined gradient must not become zeros, or all earlier nodes would work on zeros too."""
    decay, x = leaves(3)
    output = Blocked.apply(extension.op("linear_scan")(decay, x))
    with Log() as log:
        output.sum().backward()

    found = decay.grad, x.grad
    assert found == (None, None), f"your gradients are {found}, expected None, because none arrived"
    assert SCAN not in log.names, "backward called linear_scan for an undefined gradient"


@pytest.mark.parametrize(
    "check",
    ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"],
)
def test_opcheck_agrees(extension: Extension, check: str) -> None:
    """PyTorch traces backward with symbolic sizes."""
    linear_scan = extension.op("linear_scan").default
    for shape in ((4, 3), (0, 3), (3,)):
        for arguments in (leaves(*shape), leaves(*shape, decay=False), leaves(*shape, x=False)):
            linear_scan(*arguments)
            found = torch.library.opcheck(linear_scan, arguments, test_utils=check)

            assert {check: "SUCCESS"} == found, f"opcheck of {shape}: {found}"
