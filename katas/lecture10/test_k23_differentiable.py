"""Tests of k23_differentiable: outputs, gradients, and what happens to saved values."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from katas.lecture10 import k23_differentiable as kata
from katas.lecture10.k23_differentiable import differentiable
from plugins.kit import forbids
from plugins.kit import freed


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable

    Function = Callable[..., tuple[torch.Tensor, ...]]


def leaf(*sizes: int) -> torch.Tensor:
    """Return a float64 leaf that requires grad."""
    return torch.randn(sizes, dtype=torch.float64, requires_grad=True)


def sizes(tensors: Iterable[torch.Tensor]) -> list[int]:
    """Return the bytes of each storage behind the tensors, counting a shared one once."""
    storages = [tensor.untyped_storage() for tensor in tensors]
    return sorted({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def saved_by_autograd(function: Function, primals: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """Return what eager autograd saves."""
    saved: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor)
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        outputs = function(*primals)
    del outputs
    return [tensor.detach() for tensor in saved]


READY_MADE = (
    "functorch",
    "functorch.compile",
    "torch._functorch",
    "torch._functorch.aot_autograd",
    "torch._functorch.partitioners",
    "torch.compile",
)


def test_nothing_ready_made_is_called() -> None:
    """AOTAutograd may not be called: you are writing it."""
    with forbids(kata, *READY_MADE) as fresh:
        (found,) = fresh.differentiable(parts, slopes, 1)(leaf(2, 3), leaf(3, 4))

    assert (2, 4) == tuple(found.shape), (
        f"your result has shape {tuple(found.shape)}, expected (2, 4)"
    )


def test_a_function_calls_the_two_parts() -> None:
    """The parts may compute anything: backward returns a made-up gradient here."""

    def forward(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x * 2, x + y

    def backward(saved: torch.Tensor, tangent: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return tangent * 7 + saved, None

    x, y = leaf(3), leaf(3)
    (output,) = differentiable(forward, backward, 1)(x, y)
    output.backward(torch.full_like(x, 10.0))

    torch.testing.assert_close(output, x * 2)
    expected = (70 + x + y).detach()
    torch.testing.assert_close(x.grad, expected, msg="the gradients are what backward returns")
    assert y.grad is None, (
        f"y.grad is {y.grad}, expected None: that is what backward returned for y"
    )


def test_a_function_returns_all_outputs_and_nothing_that_is_saved() -> None:
    """If nobody computes the gradient of one of them, its tangent is zeros."""

    def forward(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x * y, x.sin(), x, y

    def backward(x: Any, y: Any, first: Any, second: Any) -> tuple[torch.Tensor, ...]:
        return first * y + second * x.cos(), first * x

    x, y = leaf(3), leaf(3)
    outputs = differentiable(forward, backward, 2)(x, y)

    assert isinstance(outputs, tuple), f"your function returns a {type(outputs)}, expected a tuple"
    assert 2 == len(outputs), (
        "expected only the two outputs: the saved values are for backward, not for the caller"
    )
    outputs[1].sum().backward()
    torch.testing.assert_close(x.grad, x.detach().cos())
    torch.testing.assert_close(y.grad, torch.zeros_like(y))


def test_saved_values_go_through_save_for_backward() -> None:
    """So hooks see them, and a write to one of them is noticed."""
    x, w = leaf(2, 3), leaf(3, 4)
    y = x * 1
    ours = differentiable(parts, slopes, 1)
    saved = saved_by_autograd(ours, (y, w))

    assert [(2, 3), (3, 4), (2, 4)] == [tuple(tensor.shape) for tensor in saved], (
        "ctx.save_for_backward should get two primals and their product"
    )
    (output,) = ours(y, w)
    y.detach().add_(1)
    try:
        output.sum().backward()
    except RuntimeError as error:
        message = str(error)
    else:
        message = "no error"
    assert "modified by an inplace operation" in message, (
        "a write to a saved value went unnoticed: save values with ctx.save_for_backward"
    )


def test_a_write_to_a_saved_output_is_noticed() -> None:
    """The output itself is saved, not a copy: the derivative of exp is its value."""

    def forward(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        value = x.exp()
        return value, value

    (output,) = differentiable(forward, lambda value, tangent: (value * tangent,), 1)(leaf(3))
    output.detach().add_(1)
    try:
        output.sum().backward()
    except RuntimeError as error:
        message = str(error)
    else:
        message = "no error"
    assert "modified by an inplace operation" in message, (
        f"a write to a saved output should be an error: {message}"
    )


def test_saved_values_die_with_the_outputs() -> None:
    """Autograd frees saved values: anything else that keeps them holds the memory of every step."""
    x = leaf(3)

    def forward(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        made.append(x * 2)
        return x.sin(), made[-1]

    def backward(saved: torch.Tensor, tangent: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (saved * tangent,)

    made: list[torch.Tensor] = []
    ours = differentiable(forward, backward, 1)

    def step() -> torch.Tensor:
        (output,) = ours(x)
        torch.autograd.grad(output.sum(), x)
        return made.pop()

    freed(step, "Only ctx.save_for_backward keeps saved values.")


def test_a_second_derivative_is_an_error() -> None:
    """The saved values carry no graph, so a second derivative would be wrong."""
    x, w = leaf(2, 3), leaf(3, 4)
    (output,) = differentiable(parts, slopes, 1)(x, w)
    (first,) = torch.autograd.grad(output.square().sum(), x, create_graph=True)
    try:
        first.sum().backward()
    except RuntimeError as error:
        message = str(error)
    else:
        message = "no error, and a wrong gradient"

    assert "once_differentiable" in message, f"a second derivative should be an error: {message}"


def parts(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the output of a layer, and what its backward needs."""
    product = torch.mm(x, w)
    return product.sin(), x, w, product


def slopes(
    x: torch.Tensor, w: torch.Tensor, product: torch.Tensor, tangent: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """Return the gradients of a layer."""
    grad = tangent * product.cos()
    return grad @ w.t(), x.t() @ grad


def test_gradcheck_agrees() -> None:
    """Backward returns the numerical derivatives, with operators before and after."""
    ours = differentiable(parts, slopes, 1)
    x, w = leaf(2, 3), leaf(3, 4)

    assert torch.autograd.gradcheck(lambda x, w: ours(x.exp(), w)[0].square(), (x, w))
