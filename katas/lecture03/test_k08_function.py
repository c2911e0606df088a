"""Tests of k08_function: finite differences of first and second derivatives are the oracle."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import pytest
import torch
from torch.autograd import gradcheck
from torch.autograd import gradgradcheck
from torch.autograd.function import once_differentiable
from torch.autograd.gradcheck import GradcheckError
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture03 import k08_function as kata
from katas.lecture03.k08_function import CubeOnce
from katas.lecture03.k08_function import Exp
from katas.lecture03.k08_function import Mul
from plugins.kit import freed
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


class Operators(TorchDispatchMode):
    """Counts the operators that run, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Record the name and run the operator."""
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def differentiable(function: Callable, *inputs: torch.Tensor, twice: bool = True) -> None:
    """Compare with finite differences, in float64."""
    judges = {"": gradcheck, " of your gradient": gradgradcheck}
    for what, judge in list(judges.items())[: 1 + twice]:
        try:
            judge(function, inputs)
        except GradcheckError as error:
            raise AssertionError(
                f"differences{what} (expected) disagree with yours (analytical)\n{error}"
            ) from None


def double(*values: float, grad: bool = True) -> torch.Tensor:
    """Return a float64 leaf."""
    return torch.tensor(values, dtype=torch.float64, requires_grad=grad)


def saved(result: torch.Tensor) -> list[torch.Tensor]:
    """Return the tensors saved by the function behind `result`."""
    return [tensor for tensor in result.grad_fn.saved_tensors if tensor is not None]


def test_exp_has_a_derivative(device: str) -> None:
    """The derivative is the result."""
    x = torch.tensor([0.5, -1.0], device=device, requires_grad=True)
    result = Exp.apply(x)

    torch.testing.assert_close(result, x.exp(), msg="yours differs from x.exp()\n".__add__)
    yours = torch.autograd.grad(result.sum(), x)[0]
    says = "the gradient of exp: yours is not x.exp()\n".__add__
    torch.testing.assert_close(yours, x.exp().detach(), msg=says)


def test_exp_saves_its_result() -> None:
    """`Exp` uses ``save_for_backward``, so autograd knows whose result it is."""
    result = Exp.apply(double(1.0))

    kept = saved(result)
    assert 1 == len(kept), f"your code saves {len(kept)} tensors with save_for_backward, expected 1"
    assert result.data_ptr() == kept[0].data_ptr(), "your code saves a tensor other than the result"


def test_exp_has_a_second_derivative() -> None:
    """A result kept detached would count as a constant."""
    x = double(0.5, -1.0)

    differentiable(Exp.apply, x)


def test_exp_is_computed_once() -> None:
    """One exponential serves the result, its gradient and its second derivative."""
    x = double(1.0)
    with Operators() as log:
        (first,) = torch.autograd.grad(Exp.apply(x), x, create_graph=True)
        torch.autograd.grad(first, x)

    times = log.names.count("exp")
    assert 1 == times, f"your code computes {times} exponentials for two derivatives, expected 1"


def test_mul_has_both_derivatives(device: str) -> None:
    """Each factor is the other's slope."""
    a = torch.tensor([2.0, 3.0], device=device, requires_grad=True)
    b = torch.tensor([5.0, 7.0], device=device, requires_grad=True)
    Mul.apply(a, b).sum().backward()

    yours = [a.grad.tolist(), b.grad.tolist()]
    assert [[5.0, 7.0], [2.0, 3.0]] == yours, (
        f"yours {yours}, expected [[5, 7], [2, 3]]: the gradient of a is b, and vice versa"
    )


@pytest.mark.parametrize("needed", [(True, True), (True, False), (False, True)])
def test_mul_saves_what_is_needed(needed: tuple[bool, bool]) -> None:
    """The gradient of one factor needs only the other factor."""
    a, b = double(2.0, grad=needed[0]), double(3.0, grad=needed[1])
    wanted = [other for other, need in zip((b, a), needed, strict=True) if need]

    kept = sorted(tensor.item() for tensor in saved(Mul.apply(a, b)))
    expected = sorted(tensor.item() for tensor in wanted)
    assert expected == kept, (
        f"a = 2, b = 3, needs_input_grad {needed}: your code saves {kept}, expected {expected}"
    )


@pytest.mark.parametrize("needed", [(True, True), (True, False), (False, True)])
def test_mul_computes_what_is_needed(needed: tuple[bool, bool]) -> None:
    """A gradient that is not needed is None and costs no multiplication."""
    inputs = double(2.0, grad=needed[0]), double(3.0, grad=needed[1])
    result = Mul.apply(*inputs)
    with Operators() as log:
        torch.autograd.grad(result, [x for x in inputs if x.requires_grad])

    assert sum(needed) == log.names.count("mul"), (
        f"needs_input_grad {needed}: your code runs {log.names}, expected {sum(needed)} products"
    )


def test_mul_has_second_derivatives() -> None:
    """Second derivatives are right whether one or both factors need a gradient."""
    differentiable(Mul.apply, double(2.0, 3.0), double(5.0, 7.0))
    differentiable(lambda a: Mul.apply(a, a), double(2.0, 3.0))
    differentiable(Mul.apply, double(2.0), double(3.0, grad=False), twice=False)
    differentiable(Mul.apply, double(2.0, grad=False), double(3.0), twice=False)


def test_once_has_a_first_derivative() -> None:
    """The two kernels compute the cube and its derivative."""
    differentiable(CubeOnce.apply, double(2.0, -3.0), twice=False)


def test_once_saves_its_input() -> None:
    """`CubeOnce` saves only x, with ``save_for_backward``, so that a write to x is noticed."""
    x = double(2.0)
    kept = saved(CubeOnce.apply(x))

    assert 1 == len(kept), f"your code saves {len(kept)} tensors with save_for_backward, expected 1"
    assert x.data_ptr() == kept[0].data_ptr(), "your code saves a tensor other than the input"


def test_once_is_an_error_the_second_time() -> None:
    """An error is better than a wrong second derivative; the first derivative works."""
    x = double(2.0)
    # The square gives the incoming gradient a history; without it the result is a constant.
    (first,) = torch.autograd.grad(CubeOnce.apply(x).square(), x, create_graph=True)

    assert first.item() == 2 * 2**3 * 3 * 2**2, f"6 x^5 at 2 is 192, yours {first.item()}"
    assert first.requires_grad, "your gradient is a constant: a second derivative would be wrong"
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.backward()


@pytest.mark.given
def test_a_gradient_without_a_history_goes_out_as_a_constant() -> None:
    """The decorator misses this: x^3 + (3 x^2)^2 has slope 300 at 2, but you get 12."""

    class Once(torch.autograd.Function):
        """The cube, differentiable once."""

        @staticmethod
        def forward(ctx, x):  # noqa: ANN001, ANN205
            """Return x cubed."""
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):  # noqa: ANN001, ANN205
            """Return the gradient, without recording."""
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad

    x = double(2.0)
    y = Once.apply(x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert not first.requires_grad, "the tensor of ones that sum's backward returns has no graph"
    (y.sum() + first.square().sum()).backward()

    assert 12.0 == x.grad.item(), f"PyTorch drops the second term: it gives {x.grad.item()}"


def test_the_kernels_do_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kernel is called once: a formula in torch would evade the kata."""
    calls: list[str] = []
    for name in ("cube_kernel", "cube_grad_kernel"):
        kernel = getattr(kata, name)
        monkeypatch.setattr(
            kata, name, lambda *args, name=name, kernel=kernel: calls.append(name) or kernel(*args)
        )
    x = double(2.0)
    result = CubeOnce.apply(x)
    assert ["cube_kernel"] == calls, f"your forward calls {calls}, expected only cube_kernel"
    torch.autograd.grad(result, x, create_graph=True)

    assert ["cube_kernel", "cube_grad_kernel"] == calls, (
        f"your code calls {calls}, expected cube_kernel in forward and cube_grad_kernel in backward"
    )


FUNCTIONS = {"Exp": Exp, "Mul": Mul, "CubeOnce": CubeOnce}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_the_caller_has_stays(name: str) -> None:
    """Forward and a recorded backward leave inputs, result and incoming gradient alone."""
    count = 2 if name == "Mul" else 1
    inputs = [double(0.7, -1.3, 0.0) for _ in range(count)]
    grad = double(2**0.5, -(3**0.5), 0.0)
    with unchanged(*inputs):
        result = FUNCTIONS[name].apply(*inputs)
    with unchanged(*inputs, result=result, grad=grad):
        torch.autograd.grad(result, inputs, grad, create_graph=True)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_inputs_are_let_go_after_backward(name: str) -> None:
    """Autograd frees what ``save_for_backward`` got; it knows nothing of attributes on ctx."""
    count = 2 if name == "Mul" else 1
    inputs = [double(0.7) * 1 for _ in range(count)]
    alive = [weakref.ref(x) for x in inputs]
    result = FUNCTIONS[name].apply(*inputs)
    result.sum().backward()
    del inputs

    kept = sum(reference() is not None for reference in alive)
    assert 0 == kept, (
        f"backward has run, but your code keeps {kept} inputs: attributes on ctx stay alive"
    )
    assert result.requires_grad, "your result is cut off from its history"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_owns_its_result(name: str) -> None:
    """Result and node die with their last owner, by reference counting alone."""
    count = 2 if name == "Mul" else 1

    freed(
        lambda: FUNCTIONS[name].apply(*(double(1.0) for _ in range(count))),
        "An attribute of ctx owns the result, which owns ctx: save_for_backward does not.",
    )
