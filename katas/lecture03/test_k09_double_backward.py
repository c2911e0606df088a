"""Tests of k09_double_backward: finite differences of both derivatives are the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch.autograd import gradcheck
from torch.autograd import gradgradcheck
from torch.autograd.gradcheck import GradcheckError
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture03 import k09_double_backward as kata
from katas.lecture03.k09_double_backward import Cube
from katas.lecture03.k09_double_backward import CubeGrad
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


def test_the_derivative_is_a_function_of_two_inputs() -> None:
    """3 x^2 grad depends on `grad` and on `x`."""
    grad, x = double(0.5, 1.5), double(2.0, -3.0)

    yours = CubeGrad.apply(grad, x).tolist()
    assert [6.0, 40.5] == yours, (
        f"3 x^2 grad for grad [0.5, 1.5], x [2, -3] is [6, 40.5]: yours {yours}"
    )
    differentiable(CubeGrad.apply, grad, x, twice=False)


@pytest.mark.parametrize(("needed", "products"), [((True, False), 3), ((False, True), 3)])
def test_the_derivative_honours_what_is_needed(needed: tuple[bool, bool], products: int) -> None:
    """If only `grad` or only `x` needs a gradient, three multiplications are enough, not six."""
    inputs = double(0.5, grad=needed[0]), double(2.0, grad=needed[1])
    result = CubeGrad.apply(*inputs)
    with Operators() as log:
        torch.autograd.grad(result, [x for x in inputs if x.requires_grad])

    count = log.names.count("mul") + log.names.count("pow")
    assert count <= products, (
        f"needs_input_grad {needed}: you run {log.names}, expected at most {products} products"
    )


def test_cube_has_two_derivatives() -> None:
    """Both derivatives agree with finite differences, and so do further ones of `CubeGrad`."""
    x = double(2.0, -3.0)

    differentiable(Cube.apply, x)
    (first,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert [12.0, -18.0] == second.tolist(), f"6 x at [2, -3] is [12, -18]: yours {second.tolist()}"
    grad = double(0.5, 1.5)
    differentiable(lambda grad, x: CubeGrad.apply(grad, x).exp(), grad, x)


def test_the_kernels_do_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kernel is called once: a formula in torch would evade the kata."""
    calls: list[str] = []
    for name in ("cube_kernel", "cube_grad_kernel"):
        kernel = getattr(kata, name)
        monkeypatch.setattr(
            kata, name, lambda *args, name=name, kernel=kernel: calls.append(name) or kernel(*args)
        )
    x, grad = double(2.0), double(1.0)
    (first,) = torch.autograd.grad(Cube.apply(x), x, grad, create_graph=True)
    torch.autograd.grad(first, (x, grad))

    assert ["cube_kernel", "cube_grad_kernel"] == calls, (
        f"you call {calls}, expected cube_kernel in forward and cube_grad_kernel in backward;"
        " anything after that uses torch operators"
    )


def test_the_cube_records_its_derivative() -> None:
    """The node behind the first derivative is that of `CubeGrad`."""
    x = double(2.0)
    (first,) = torch.autograd.grad(Cube.apply(x), x, create_graph=True)

    name = first.grad_fn and first.grad_fn.name()
    assert "CubeGradBackward" == name, (
        f"the node of the first derivative is {name}, expected CubeGrad"
    )


FUNCTIONS = {"CubeGrad": CubeGrad, "Cube": Cube}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_the_caller_has_stays(name: str) -> None:
    """Forward and a recorded backward leave inputs, result and incoming gradient alone."""
    count = 2 if name == "CubeGrad" else 1
    inputs = [double(0.7, -1.3, 0.0) for _ in range(count)]
    grad = double(2**0.5, -(3**0.5), 0.0)
    with unchanged(*inputs):
        result = FUNCTIONS[name].apply(*inputs)
    with unchanged(*inputs, result=result, grad=grad):
        torch.autograd.grad(result, inputs, grad, create_graph=True)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_write_to_an_input_is_noticed(name: str) -> None:
    """Autograd compares versions of what ``save_for_backward`` got, not of attributes on ctx."""
    x = double(2.0) * 1
    result = Cube.apply(x) if name == "Cube" else CubeGrad.apply(double(0.5), x)
    x.mul_(3)

    outcome = "a wrong gradient, and no error"
    try:
        result.backward()
    except RuntimeError as error:
        outcome = str(error)
    assert "modified by an inplace operation" in outcome, (
        f"{name}: x was written to before backward. Yours: {outcome}; save_for_backward notices"
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_owns_its_result(name: str) -> None:
    """Result and node die with their last owner, by reference counting alone."""
    count = 2 if name == "CubeGrad" else 1

    freed(
        lambda: FUNCTIONS[name].apply(*(double(1.0) for _ in range(count))),
        "An attribute of ctx owns the result, which owns ctx: save_for_backward does not.",
    )
