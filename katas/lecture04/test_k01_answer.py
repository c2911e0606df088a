"""Tests of k01_answer: an operator, and what PyTorch gives it for free."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from torch.utils._python_dispatch import TorchDispatchMode

from plugins.kit import tensors
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")


class Names(TorchDispatchMode):
    """Records the operators that arrive below autograd, by name, as a compiler does."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Record the name and run the operator."""
        self.names.append(func.name().partition(".")[0])
        return func(*args, **(kwargs or {}))


def test_it_is_an_operator(extension: Extension) -> None:
    """PyTorch knows its name and its schema, and can print it."""
    yours = str(extension.op("answer").default._schema)  # noqa: SLF001 - it has no other name

    expected = "lecture04_k01::answer(Tensor x) -> Tensor"
    assert expected == yours, f"yours      {yours}\nexpected   {expected}"


def test_the_answer(extension: Extension) -> None:
    """For x = 6 it is 7 times 6, a tensor without dims."""
    yours = extension.op("answer")(torch.tensor(6.0))

    assert yours.item() == 42.0, (
        f"yours {yours}, expected tensor(42.): (x + 1) * (2 * x - 6) for x = 6"
    )


@given(x=tensors((torch.float64, torch.float32, torch.int64)))
def test_any_tensor(extension: Extension, x: torch.Tensor) -> None:
    """The operators that you call handle any shape, strides and dtype."""
    with unchanged(x=x):
        yours = extension.op("answer")(x)

    says = "yours is not (x + 1) * (2 * x - 6)\n".__add__
    torch.testing.assert_close(
        yours, (x + 1) * (2 * x - 6), rtol=0, atol=0, equal_nan=True, msg=says
    )


def test_a_gradient_comes_along(extension: Extension) -> None:
    """Your function calls operators that have gradients."""
    x = torch.tensor([6.0, 0.5, -3.0], dtype=torch.float64, requires_grad=True)
    y = extension.op("answer")(x)

    assert y.requires_grad, (
        "yours has no grad_fn: autograd records the operators that your function calls, "
        "unless something cuts the graph"
    )
    (yours,) = torch.autograd.grad(y.sum(), x)
    says = "the gradient of (x + 1) * (2 * x - 6) is 4 * x - 4\n".__add__
    torch.testing.assert_close(yours, 4 * x.detach() - 4, rtol=0, atol=0, msg=says)


def test_a_shape_without_memory_comes_along(extension: Extension) -> None:
    """On the meta device a tensor has a shape but no elements, which compilers use to plan."""
    yours = extension.op("answer")(torch.empty(2**40, device="meta"))  # m.impl for CPU has none

    found = yours.device.type, tuple(yours.shape)
    assert found == ("meta", (2**40,)), f"yours {found}, expected a meta tensor of 2**40 elements"


def test_it_is_made_of_operators(extension: Extension) -> None:
    """The profiler, a compiler and vmap see the operators inside."""
    with watched_operators() as names:
        extension.op("answer")(torch.ones(2))
    found = {"lecture04_k01::answer", "aten::add", "aten::mul", "aten::sub"} - set(names)

    assert not found, f"the profiler does not see {sorted(found)}; it sees {sorted(set(names))}"
    x = torch.ones(2)
    with Names() as below:
        extension.op("answer")(x)
    assert set(below.names) == {"aten::add", "aten::mul", "aten::sub"}, (
        f"a compiler finds {below.names}, expected the operators that your function calls. "
        "It appears as one operator if any key has a kernel of its own; m.def with a function "
        "serves all keys"
    )
    mapped = torch.vmap(extension.op("answer"))(torch.tensor([6.0, 1.0]))
    assert mapped.tolist() == [42.0, -8.0], f"under torch.vmap your operator returns {mapped}"
