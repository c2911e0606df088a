"""Tests of k05_sum_to_size: ``expand``, ``Tensor.sum_to_size`` and autograd are the oracle."""

from __future__ import annotations

import re
import weakref

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture03 import k05_sum_to_size as kata
from katas.lecture03.k05_sum_to_size import Add
from katas.lecture03.k05_sum_to_size import Expand
from katas.lecture03.k05_sum_to_size import is_expandable_to
from katas.lecture03.k05_sum_to_size import sum_to_size
from plugins.kit import forbids
from plugins.kit import unchanged


ENGINE = (
    *("autograd.grad", "autograd.backward", "autograd.functional", "autograd.forward_ad"),
    *("autograd.Variable", "autograd.graph._engine_run_backward", "func", "Tensor.backward"),
    "Tensor.grad_fn",
)
SHAPES = st.lists(st.integers(0, 3), max_size=3).map(tuple)


@st.composite
def expansions(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw a shape and a shape that it can be expanded to."""
    wanted = draw(st.lists(st.integers(0, 3), max_size=4))
    kept = wanted[draw(st.integers(0, len(wanted))) :]
    return tuple(draw(st.sampled_from([size, 1])) for size in kept), tuple(wanted)


class Operators(TorchDispatchMode):
    """Records the name of every operator that runs."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Record the name and run the operator."""
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))

    @property
    def sums(self) -> int:
        """Return how many of the recorded operators were sums."""
        return self.names.count("sum")


def double(*shape: int) -> torch.Tensor:
    """Draw a float64 leaf."""
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.given
@given(shape=SHAPES, desired=SHAPES)
def test_expandable_is_what_expand_accepts(
    shape: tuple[int, ...], desired: tuple[int, ...]
) -> None:
    """The given rule agrees with expand for any two shapes."""
    try:
        torch.empty(shape).expand(desired)
    except RuntimeError:
        accepted = False
    else:
        accepted = True

    assert accepted is is_expandable_to(shape, desired), (
        f"{shape} to {desired}: your code does not follow the given rule"
    )


def test_a_bias_gets_the_sum_over_the_batch(device: str) -> None:
    """The dims in front are new: they are summed away."""
    answer = sum_to_size(torch.ones(4, 3, device=device), (3,))

    assert [4.0, 4.0, 4.0] == answer.tolist(), (
        f"yours {answer.tolist()}, expected [4, 4, 4]: the dim of the four rows is new, so sum "
        "over it"
    )


def test_a_dim_of_one_gets_the_sum_and_stays(device: str) -> None:
    """The dim is summed, and kept with size 1."""
    answer = sum_to_size(torch.ones(2, 3, 4, device=device), (2, 1, 4))

    assert (2, 1, 4) == tuple(answer.shape), (
        f"yours has shape {tuple(answer.shape)}, expected (2, 1, 4): a dim that was 1 must be 1 "
        "again"
    )
    assert bool((answer == 3).all()), f"yours {answer.tolist()}, expected 3 everywhere"


def test_a_scalar_gets_the_sum_of_all(device: str) -> None:
    """For a scalar every dim is new."""
    answer = sum_to_size(torch.ones(2, 3, device=device), ())

    assert () == tuple(answer.shape), f"yours has shape {tuple(answer.shape)}, expected ()"
    assert 6.0 == answer.item(), f"yours {answer.item()}, expected 6: all of 2 * 3 ones"


def test_nothing_repeated_is_nothing_done(device: str) -> None:
    """The tensor itself is returned: this is the usual case, and a copy would cost memory."""
    tensor = torch.ones(2, 1, 3, device=device)

    assert tensor is sum_to_size(tensor, (2, 1, 3)), "return the tensor itself"
    assert tensor is sum_to_size(tensor, [2, 1, 3]), (
        "a shape may be a list: return the tensor itself then too"
    )
    scalar = torch.ones((), device=device)
    assert scalar is sum_to_size(scalar, ()), (
        "nothing is repeated in a scalar: return the tensor itself"
    )


@pytest.mark.given
@pytest.mark.parametrize(("sizes", "shape"), [((2, 3), (2,)), ((3,), (1, 3)), ((1, 3), (2, 3))])
def test_what_was_no_expansion_is_refused(sizes: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """The message shows both shapes as tuples, whatever sequence was passed."""
    for given_shape in (shape, list(shape)):
        with pytest.raises(ValueError, match=re.escape(str(shape)) + ".*" + re.escape(str(sizes))):
            sum_to_size(torch.ones(sizes), given_shape)


@given(expansion=expansions(), data=st.data())
def test_the_sum_is_that_of_torch(
    device: str, expansion: tuple[tuple[int, ...], tuple[int, ...]], data: st.DataObject
) -> None:
    """Your sum is PyTorch's for any expansion of a tensor in any memory order."""
    shape, wanted = expansion
    order = data.draw(st.permutations(range(len(wanted))))
    inverse = sorted(range(len(order)), key=order.__getitem__)
    tensor = torch.randn([wanted[dim] for dim in order], device=device).permute(inverse)
    before = tensor.clone()

    says = f"{wanted}, strides {tensor.stride()}, to {shape}: yours is not PyTorch's\n".__add__
    torch.testing.assert_close(sum_to_size(tensor, shape), tensor.sum_to_size(shape), msg=says)
    assert torch.equal(before, tensor), "your code writes to the gradient, which others may share"


@pytest.mark.parametrize("shape", [(3, 1, 5), (4, 5), (5,), (), (1, 1, 1), (1, 4, 1)])
def test_one_sum_does_it_all(shape: tuple[int, ...]) -> None:
    """Each further sum would read and write the tensor again."""
    tensor = torch.ones(3, 4, 5)
    with Operators() as log:
        sum_to_size(tensor, shape)

    assert 1 == log.sums, f"expected one sum over all the dims at once; your code ran {log.names}"
    views = {"view", "select", "squeeze", "unsqueeze", "_unsafe_view", "alias"}
    others = set(log.names) - {"sum"} - views
    assert set() == others, f"besides the sum only views are allowed; your code ran {log.names}"


def test_the_method_of_torch_is_not_called() -> None:
    """The kata rebuilds ``Tensor.sum_to_size`` and the backward of expand."""
    x = torch.ones(2, 3)
    names = (*ENGINE, "Tensor.sum_to_size")
    with forbids(kata, *(f"torch.{name}" for name in names)) as fresh, unchanged(x=x):
        fresh.sum_to_size(x, (3,))


def test_expand_is_a_view_with_a_gradient(device: str) -> None:
    """An element that is used three times has a gradient of three."""
    x = torch.tensor([[1.0], [2.0]], device=device, requires_grad=True)
    result = Expand.apply(x, (4, 2, 3))
    Expand.apply(x[0], (2,))  # a second call has a ctx of its own

    assert x.data_ptr() == result.data_ptr(), "your Expand copies x, expected a view"
    assert (4, 2, 3) == tuple(result.shape), (
        f"yours has shape {tuple(result.shape)}, expected (4, 2, 3)"
    )
    result.sum().backward()
    assert [[12.0], [12.0]] == x.grad.tolist(), (
        f"yours {x.grad.tolist()}, expected 12 each: each element was repeated 4 * 3 times"
    )


def test_expand_can_be_differentiated_twice() -> None:
    """The second derivatives of expand agree with finite differences: a sum is differentiable."""
    x = double(2, 1)

    assert torch.autograd.gradcheck(lambda x: Expand.apply(x, (3, 2, 2)), (x,)), (
        "the gradient of expand is a sum, here over the dims in front and the one that was 1"
    )
    assert torch.autograd.gradgradcheck(lambda x: Expand.apply(x, (3, 2, 2)).exp(), (x,)), (
        "in backward, use only operators that can be differentiated themselves"
    )


@given(shapes=st.tuples(expansions(), expansions()))
def test_add_sums_to_both_shapes(
    device: str,
    shapes: tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]],
) -> None:
    """Either operand may have been repeated."""
    for (small, large), swap in zip(shapes, (False, True), strict=True):
        leaves = [torch.randn(shape, device=device, requires_grad=True) for shape in (small, large)]
        if swap:
            leaves.reverse()
        weight = torch.randn(large, device=device)
        result = Add.apply(*leaves)
        Add.apply(torch.ones(2), torch.ones(2))  # a second call has a ctx of its own
        about = f"{tuple(leaves[0].shape)} + {tuple(leaves[1].shape)}: yours differs from PyTorch's"
        torch.testing.assert_close(result, sum(leaves), msg=f"{about} sum\n".__add__)
        expected = torch.autograd.grad((sum(leaves) * weight).sum(), leaves)
        yours = torch.autograd.grad((result * weight).sum(), leaves)
        torch.testing.assert_close(yours, expected, msg=f"{about} gradient\n".__add__)


def test_add_can_be_differentiated_twice() -> None:
    """The second derivatives of add agree with finite differences."""
    inputs = double(2, 1), double(3)

    assert torch.autograd.gradcheck(Add.apply, inputs), (
        "the gradients must be summed to (2, 1) and to (3,)"
    )
    assert torch.autograd.gradgradcheck(lambda a, b: Add.apply(a, b).exp(), inputs), (
        "in backward, use only operators that can be differentiated themselves"
    )


@pytest.mark.parametrize("needed", [0, 1])
def test_add_does_nothing_for_an_input_without_gradient(needed: int) -> None:
    """Backward does not even compute a sum that would be thrown away."""
    inputs = [torch.ones(3), torch.ones(3)]
    inputs[needed].requires_grad_()
    inputs[1 - needed] = torch.ones(1)
    result = Add.apply(*inputs)
    with Operators() as log:
        torch.autograd.grad(result, inputs[needed], torch.ones(3))

    assert 0 == log.sums, (
        f"your code runs {log.names}: for an input without a gradient, return None and do not sum"
    )


def test_no_input_is_kept_for_backward() -> None:
    """Backward needs only shapes, and the caller's tensors are not written to."""
    a, b = double(2, 1) * 1, double(3) * 1
    grad = torch.full((2, 3), 2**0.5, dtype=torch.float64)
    x = double(2, 1) * 1
    expanded = Expand.apply(x, (2, 3))
    with unchanged(a=a, b=b):
        result = Add.apply(a, b)
    with unchanged(a=a, b=b, grad=grad, result=result):
        torch.autograd.grad(result, (a, b), grad, retain_graph=True)
    nodes = {"Expand": expanded.grad_fn, "Add": result.grad_fn}
    for name, node in nodes.items():
        kept = len(node.saved_tensors)
        assert 0 == kept, f"{name}: {kept} tensors saved, expected none: shapes are enough"
    alive = {"a": weakref.ref(a), "b": weakref.ref(b), "x of Expand": weakref.ref(x)}
    # The nodes stay alive; the expanded tensor is a view, which keeps its base alive.
    del a, b, x, expanded
    kept = [name for name, reference in alive.items() if reference() is not None]

    assert not kept, f"your code keeps {kept} alive on its node: the shapes are enough"
    assert result.requires_grad, "your sum is cut off from its history"
