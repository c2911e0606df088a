"""Tests of k18_autograd: the derivatives of a recurrence, the first and the second."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._python_dispatch import TorchDispatchMode

from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

NAME = "lecture04_k18::linear_scan"
SCAN = "lecture04_k18.linear_scan.default"


class Log(TorchDispatchMode):
    """Notes every operator that reaches a kernel below autograd."""

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
        """Note the name and go on; saving and unpacking a tensor detaches it, which is no work."""
        if func is not torch.ops.aten.detach.default:
            self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def scan(decay: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return what the brief says, one step at a time, in operators that autograd knows."""
    steps: list[torch.Tensor] = []
    for t in range(len(x)):
        steps.append(x[t] if t == 0 else decay[t] * steps[-1] + x[t])
    return torch.stack(steps) if steps else torch.empty_like(x)


def leaves(*shape: int, decay: bool = True, x: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    """Return random decays and inputs, in float64, that require grad or not."""
    return (
        torch.rand(shape, dtype=torch.float64).requires_grad_(decay),
        torch.randn(shape, dtype=torch.float64).requires_grad_(x),
    )


def test_the_values_are_the_operators(extension: Extension) -> None:
    """An autograd kernel changes no result: 1, then half of it and 2, then half of that and 4."""
    decay = torch.tensor([9.0, 0.5, 0.5], requires_grad=True)
    output = extension.op("linear_scan")(decay, torch.tensor([1.0, 2.0, 4.0]))

    assert [1.0, 2.5, 5.25] == output.tolist()


def test_an_input_lives_on_in_later_outputs(extension: Extension) -> None:
    """With decays of a half, 1 stays 1 in its own step, 1/2 in the next and 1/4 after that."""
    decay = torch.tensor([9.0, 0.5, 0.5])
    x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    extension.op("linear_scan")(decay, x).sum().backward()

    assert x.grad is not None
    assert [1.75, 1.5, 1.0] == x.grad.tolist()


def test_a_decay_multiplies_the_output_before(extension: Extension) -> None:
    """So its gradient is that output times what is carried back to its step; the first has none."""
    decay = torch.tensor([9.0, 0.5, 0.25], requires_grad=True)
    x = torch.tensor([1.0, 2.0, 4.0])
    extension.op("linear_scan")(decay, x).sum().backward()

    assert decay.grad is not None
    # Outputs 1, 2.5, ...; carried back ..., 1.25, 1.
    assert [0.0, 1.25, 2.5] == decay.grad.tolist()


def test_gradients_are_those_of_the_steps(extension: Extension) -> None:
    """The same as when autograd follows the recurrence one step at a time."""
    decay, x = leaves(5, 3)
    weight = torch.randn(5, 3, dtype=torch.float64)
    found = torch.autograd.grad((extension.op("linear_scan")(decay, x) * weight).sum(), (decay, x))
    expected = torch.autograd.grad((scan(decay, x) * weight).sum(), (decay, x))

    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_look_like_their_inputs(extension: Extension, dtype: torch.dtype) -> None:
    """Shape and dtype."""
    decay, x = (leaf.detach().to(dtype).requires_grad_() for leaf in leaves(4, 2))
    for gradient in torch.autograd.grad(extension.op("linear_scan")(decay, x).sum(), (decay, x)):
        assert (4, 2) == gradient.shape
        assert dtype == gradient.dtype


@pytest.mark.parametrize("shape", [(0,), (0, 2), (3, 0), (1,), (1, 2)], ids=str)
def test_no_steps_and_one_step(extension: Extension, shape: tuple[int, ...]) -> None:
    """Nothing is carried: the inputs' gradient is the outputs', that of the decay is 0."""
    decay, x = leaves(*shape)
    output = extension.op("linear_scan")(decay, x)
    of_decay, of_x = torch.autograd.grad(output, (decay, x), torch.full(shape, 3.0).double())

    assert torch.equal(torch.zeros(shape, dtype=torch.float64), of_decay)
    assert torch.equal(torch.full(shape, 3.0, dtype=torch.float64), of_x)


def test_the_first_decay_is_never_read(extension: Extension) -> None:
    """NaN there spoils no gradient: 0 times NaN would."""
    decay = torch.tensor([float("nan"), 0.5, 0.5], requires_grad=True)
    x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    extension.op("linear_scan")(decay, x).sum().backward()

    assert x.grad is not None
    assert decay.grad is not None
    assert [1.75, 1.5, 1.0] == x.grad.tolist()
    assert [0.0, 1.5, 2.5] == decay.grad.tolist()


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
def test_gradcheck_agrees(extension: Extension, pair: tuple[torch.Tensor, torch.Tensor]) -> None:
    """Finite differences, for any strides of the inputs."""
    assert torch.autograd.gradcheck(
        extension.op("linear_scan"), [x.detach().requires_grad_() for x in pair]
    )


@given(pair=strided())
def test_gradgradcheck_agrees(
    extension: Extension, pair: tuple[torch.Tensor, torch.Tensor]
) -> None:
    """Backward is made of operators that have derivatives, so it has one too."""
    assert torch.autograd.gradgradcheck(
        extension.op("linear_scan"), [x.detach().requires_grad_() for x in pair]
    )


def test_each_input_alone_has_second_derivatives(extension: Extension) -> None:
    """Also when the other one is a constant."""
    linear_scan = extension.op("linear_scan")
    decay, x = leaves(4)

    assert torch.autograd.gradgradcheck(lambda a: linear_scan(a, x.detach()), [decay])
    assert torch.autograd.gradgradcheck(lambda b: linear_scan(decay.detach(), b) ** 2, [x])


@pytest.mark.parametrize("strides", ["contiguous", "expanded", "permuted", "stepped"])
def test_incoming_gradients_have_any_strides(extension: Extension, strides: str) -> None:
    """Those of a sum have strides of 0, others come as they were made; all stay as they are."""
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

    torch.testing.assert_close(found, expected)


def test_the_graph_has_one_node(extension: Extension) -> None:
    """Operators that autograd follows one by one would leave a node each, and save more."""
    decay, x = leaves(3)
    node = extension.op("linear_scan")(decay, x).grad_fn

    assert node is not None
    assert "Scan" in node.name(), f"the node is {node.name()}"
    before = [edge[0] for edge in node.next_functions]
    found = [getattr(other, "variable", None) for other in before]
    assert [id(decay), id(x)] == [id(leaf) for leaf in found], f"before it stand {before}"


def test_forward_calls_the_kernel_below(extension: Extension) -> None:
    """Once, and nothing else, whatever the strides: that kernel copes with them."""
    decay, x = (leaf.detach().t().requires_grad_() for leaf in leaves(3, 2))
    with Log() as log:
        extension.op("linear_scan")(decay, x)

    assert [SCAN] == log.names, f"forward called {log.names}"


def test_without_gradients_there_is_no_graph(extension: Extension) -> None:
    """Nobody asked: nothing is recorded, nothing is saved."""
    linear_scan = extension.op("linear_scan")
    decay, x = leaves(3)
    with torch.no_grad():
        assert linear_scan(decay, x).grad_fn is None
    assert linear_scan(decay.detach(), x.detach()).grad_fn is None
    assert not linear_scan(decay.detach(), x.detach()).requires_grad


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
    """And no more: the inputs never, the output for the gradient of decay alone."""
    decay, x = leaves(3, decay=decay_needs, x=x_needs)
    saved: list[int] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor.data_ptr())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = extension.op("linear_scan")(decay, x)
    names = {decay.data_ptr(): "decay", x.data_ptr(): "input", output.data_ptr(): "output"}
    found = sorted(names.get(pointer, "another tensor, or a copy") for pointer in saved)

    assert expected == found, f"save_for_backward got {found}"


@pytest.mark.parametrize("changed", ["decay", "output"])
def test_a_saved_tensor_must_not_change(extension: Extension, changed: str) -> None:
    """Its version counter tells, if it was saved by save_for_backward."""
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

    assert 1 == log.names.count(SCAN), f"backward called {log.names}"


def test_what_nobody_asks_for_is_not_computed(extension: Extension) -> None:
    """For the input's gradient alone backward needs fewer operators, and never output."""
    linear_scan = extension.op("linear_scan")
    decay, x = leaves(3)
    counts = {}
    for name, inputs in (("both", (decay, x)), ("input", (x,)), ("constant decay", (x,))):
        output = linear_scan(decay.detach() if name == "constant decay" else decay, x).sum()
        with Log() as log:
            torch.autograd.grad(output, inputs)
        counts[name] = len(log.names)

    message = f"operators that backward called: {counts}"
    assert counts["input"] < counts["both"], message
    assert counts["input"] == counts["constant decay"], message


class Blocked(torch.autograd.Function):
    """Passes its input on, and no gradient back."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return a copy."""
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> None:
        """Return nothing, which is an undefined gradient in C++."""


def test_an_undefined_gradient_stays_undefined(extension: Extension) -> None:
    """Not a tensor of zeros: then all nodes before this one would work on zeros too."""
    decay, x = leaves(3)
    output = Blocked.apply(extension.op("linear_scan")(decay, x))
    with Log() as log:
        output.sum().backward()

    assert (None, None) == (decay.grad, x.grad)
    assert SCAN not in log.names, "backward worked on a gradient that is not there"


def test_symbols_stay_symbols(extension: Extension) -> None:
    """While backward is traced; an int would be a guard, and every other size a new compilation."""
    mode = FakeTensorMode(shape_env=ShapeEnv())
    decay, x = (mode.from_tensor(leaf.detach()).requires_grad_() for leaf in leaves(5, 3))
    with mode:
        torch.autograd.grad(extension.op("linear_scan")(decay, x).sum(), (decay, x))

    steps = x.shape[0]
    assert isinstance(steps, torch.SymInt)
    assert steps.node.maybe_as_int() is None, "the number of steps was asked for as an int"


@pytest.mark.parametrize(
    "check",
    ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"],
)
def test_opcheck_agrees(extension: Extension, check: str) -> None:
    """PyTorch examines it too: backward is traced with sizes that are symbols."""
    linear_scan = extension.op("linear_scan").default
    for shape in ((4, 3), (0, 3), (3,)):
        for arguments in (leaves(*shape), leaves(*shape, decay=False), leaves(*shape, x=False)):
            linear_scan(*arguments)
            found = torch.library.opcheck(linear_scan, arguments, test_utils=check)

            assert {check: "SUCCESS"} == found


def test_the_kernel_is_registered_for_autograd(extension: Extension) -> None:
    """Under the alias key, which stands for the autograd key of every backend."""
    extension.op("linear_scan")(*leaves(1))

    found = torch._C._dispatch_has_kernel_for_dispatch_key(NAME, "Autograd")  # noqa: SLF001 - asks the dispatcher
    assert found
