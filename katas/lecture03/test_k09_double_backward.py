"""Tests of k09_double_backward: finite differences of first and second derivatives judge."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck
from torch.autograd import gradgradcheck
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture03 import k09_double_backward as kata
from katas.lecture03.k09_double_backward import Cube
from katas.lecture03.k09_double_backward import CubeGrad
from katas.lecture03.k09_double_backward import CubeOnce
from katas.lecture03.k09_double_backward import Exp
from katas.lecture03.k09_double_backward import Mul
from plugins.kit import freed
from plugins.kit import unchanged


class Operators(TorchDispatchMode):
    """Counts the operators that are run, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Note the name and go on."""
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def double(*values: float, grad: bool = True) -> torch.Tensor:
    """Return a float64 leaf."""
    return torch.tensor(values, dtype=torch.float64, requires_grad=grad)


def saved(result: torch.Tensor) -> list[torch.Tensor]:
    """Return the tensors that the function behind `result` saved."""
    return [tensor for tensor in result.grad_fn.saved_tensors if tensor is not None]


def test_exp_has_a_derivative(device: str) -> None:
    """Which is the result."""
    x = torch.tensor([0.5, -1.0], device=device, requires_grad=True)
    result = Exp.apply(x)

    torch.testing.assert_close(result, x.exp())
    torch.testing.assert_close(torch.autograd.grad(result.sum(), x)[0], x.exp().detach())


def test_exp_saves_its_result() -> None:
    """By ``save_for_backward``: autograd then knows whose result it is."""
    result = Exp.apply(double(1.0))

    assert 1 == len(saved(result)), "save one tensor with ctx.save_for_backward"
    assert result.data_ptr() == saved(result)[0].data_ptr(), "save the result, not the input"


def test_exp_has_a_second_derivative() -> None:
    """A result that was kept detached would count as a constant."""
    x = double(0.5, -1.0)

    assert gradcheck(Exp.apply, (x,))
    assert gradgradcheck(Exp.apply, (x,))


def test_exp_is_computed_once() -> None:
    """For the result, its gradient and the gradient of that."""
    x = double(1.0)
    with Operators() as log:
        (first,) = torch.autograd.grad(Exp.apply(x), x, create_graph=True)
        torch.autograd.grad(first, x)

    assert 1 == log.names.count("exp"), "use the saved result"


def test_mul_has_both_derivatives(device: str) -> None:
    """Each factor is the other's slope."""
    a = torch.tensor([2.0, 3.0], device=device, requires_grad=True)
    b = torch.tensor([5.0, 7.0], device=device, requires_grad=True)
    Mul.apply(a, b).sum().backward()

    assert [5.0, 7.0] == a.grad.tolist()
    assert [2.0, 3.0] == b.grad.tolist()


@pytest.mark.parametrize("needed", [(True, True), (True, False), (False, True)])
def test_mul_saves_what_is_needed(needed: tuple[bool, bool]) -> None:
    """The gradient by one factor needs the other factor, and nothing else."""
    a, b = double(2.0, grad=needed[0]), double(3.0, grad=needed[1])
    wanted = [other for other, need in zip((b, a), needed, strict=True) if need]

    assert {x.data_ptr() for x in wanted} == {
        tensor.data_ptr() for tensor in saved(Mul.apply(a, b))
    }


@pytest.mark.parametrize("needed", [(True, True), (True, False), (False, True)])
def test_mul_computes_what_is_needed(needed: tuple[bool, bool]) -> None:
    """A gradient that nobody needs is None, and costs no multiplication."""
    inputs = double(2.0, grad=needed[0]), double(3.0, grad=needed[1])
    result = Mul.apply(*inputs)
    with Operators() as log:
        torch.autograd.grad(result, [x for x in inputs if x.requires_grad])

    assert sum(needed) == log.names.count("mul"), f"you ran {log.names}"


def test_mul_has_second_derivatives() -> None:
    """With one factor that needs a gradient, and with two."""
    assert gradgradcheck(Mul.apply, (double(2.0, 3.0), double(5.0, 7.0)))
    assert gradgradcheck(lambda a: Mul.apply(a, a), (double(2.0, 3.0),))
    assert gradcheck(Mul.apply, (double(2.0), double(3.0, grad=False)))
    assert gradcheck(Mul.apply, (double(2.0, grad=False), double(3.0)))


def test_once_has_a_first_derivative() -> None:
    """By the two kernels."""
    assert gradcheck(CubeOnce.apply, (double(2.0, -3.0),))


def test_once_is_an_error_the_second_time() -> None:
    """Better than a second derivative that leaves out what the kernel did; the first one passes."""
    x = double(2.0)
    # The square gives the incoming gradient a history, without which the result is a constant.
    (first,) = torch.autograd.grad(CubeOnce.apply(x).square(), x, create_graph=True)

    assert first.item() == 2 * 2**3 * 3 * 2**2, f"6 x^5 at 2, you gave {first.item()}"
    assert first.requires_grad, "decorate backward: without it the gradient passes for a constant"
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.backward()


def test_the_derivative_is_a_function_of_two_inputs() -> None:
    """Of 3 x^2 grad, by `grad` and by `x`."""
    grad, x = double(0.5, 1.5), double(2.0, -3.0)

    assert [6.0, 40.5] == CubeGrad.apply(grad, x).tolist()
    assert gradcheck(CubeGrad.apply, (grad, x))


@pytest.mark.parametrize(("needed", "products"), [((True, False), 3), ((False, True), 3)])
def test_the_derivative_honours_what_is_needed(needed: tuple[bool, bool], products: int) -> None:
    """By `grad` alone or by `x` alone: at most three multiplications, not six."""
    inputs = double(0.5, grad=needed[0]), double(2.0, grad=needed[1])
    result = CubeGrad.apply(*inputs)
    with Operators() as log:
        torch.autograd.grad(result, [x for x in inputs if x.requires_grad])

    count = log.names.count("mul") + log.names.count("pow")
    assert count <= products, f"compute no gradient that is not needed, you ran {log.names}"


def test_cube_has_two_derivatives() -> None:
    """The second one too, against finite differences."""
    x = double(2.0, -3.0)

    assert gradcheck(Cube.apply, (x,))
    assert gradgradcheck(Cube.apply, (x,))
    (first,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert [12.0, -18.0] == second.tolist()


@pytest.mark.parametrize("function", [CubeOnce, Cube])
def test_the_kernels_do_the_work(
    function: type[torch.autograd.Function], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call of each: a formula of torch would get around the question."""
    calls: list[str] = []
    for name in ("cube_kernel", "cube_grad_kernel"):
        kernel = getattr(kata, name)
        monkeypatch.setattr(
            kata, name, lambda *args, name=name, kernel=kernel: calls.append(name) or kernel(*args)
        )
    x = double(2.0)
    torch.autograd.grad(function.apply(x), x, create_graph=True)

    assert ["cube_kernel", "cube_grad_kernel"] == calls


def test_the_cube_records_its_derivative() -> None:
    """The node behind the first derivative is that of `CubeGrad`."""
    x = double(2.0)
    (first,) = torch.autograd.grad(Cube.apply(x), x, create_graph=True)

    assert "CubeGradBackward" == first.grad_fn.name()


FUNCTIONS = {"Exp": Exp, "Mul": Mul, "CubeOnce": CubeOnce, "CubeGrad": CubeGrad, "Cube": Cube}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_the_caller_has_stays(name: str) -> None:
    """Inputs, result and incoming gradient, by forward and by a backward that is recorded."""
    count = 2 if name in {"Mul", "CubeGrad"} else 1
    inputs = [double(0.7, -1.3, 0.0) for _ in range(count)]
    grad = double(2**0.5, -(3**0.5), 0.0)
    with unchanged(*inputs):
        result = FUNCTIONS[name].apply(*inputs)
    with unchanged(*inputs, result=result, grad=grad):
        torch.autograd.grad(result, inputs, grad, create_graph=True)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_owns_its_result(name: str) -> None:
    """The result goes with its last owner, and so does its node: by counted references alone."""
    count = 2 if name in {"Mul", "CubeGrad"} else 1

    freed(
        lambda: FUNCTIONS[name].apply(*(double(1.0) for _ in range(count))),
        "An attribute of ctx owns the result, which owns ctx: save_for_backward does not.",
    )
