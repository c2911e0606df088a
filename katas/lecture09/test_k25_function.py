"""Tests of k25_function: one function under every transform."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck
from torch.autograd import gradgradcheck

from katas.lecture09 import k25_function as kata
from plugins.kit import unchanged


EPS = 0.3


def numbers(*shape: int) -> torch.Tensor:
    """Return float64 numbers around 0, and 0 itself."""
    x = torch.randn(shape, dtype=torch.float64)
    x.view(-1)[:1] = 0.0
    return x


def plain(x: torch.Tensor) -> torch.Tensor:
    """Return the function's values, computed by operators that PyTorch differentiates."""
    return (x * x + EPS * EPS).sqrt()


def ours(x: torch.Tensor) -> torch.Tensor:
    """Call your function."""
    return kata.smooth(x, EPS)


def same(expected: torch.Tensor, actual: torch.Tensor, what: str) -> None:
    """Compare, and say what is wrong."""
    torch.testing.assert_close(
        actual,
        expected,
        rtol=1e-12,
        atol=1e-12,
        msg=lambda text: (
            f"{what}: yours is {actual.tolist()}, expected {expected.tolist()}, "
            f"for y = sqrt(x * x + eps * eps): {text}"
        ),
    )


def test_values() -> None:
    """Forward computes the values without ctx, and does not change x."""
    x = numbers(5)
    with unchanged(x=x):
        same(plain(x), ours(x), "values")


def test_a_gradient() -> None:
    """Step 2: x / y times the incoming gradient; eps is a float and has no gradient."""
    x = numbers(5).requires_grad_()
    ours(x).backward(torch.full((5,), 2.0, dtype=torch.float64))
    assert x.grad is not None, "no gradient arrives at x"
    same(2 * x.detach() / plain(x.detach()), x.grad, "the gradient of x")


def test_gradcheck_agrees() -> None:
    """Compare first and second derivatives with finite differences."""
    x = numbers(2, 3).requires_grad_()
    assert gradcheck(ours, (x,)), "the gradient is not x / y times the incoming gradient"
    assert gradgradcheck(ours, (x,)), (
        "the second derivative is wrong: in backward, use operators on what was saved"
    )


def test_func_grad() -> None:
    """torch.func.grad accepts functions with a separate setup_context."""
    x = numbers(3)
    same(x / plain(x), torch.func.grad(lambda x: ours(x).sum())(x), "torch.func.grad")


def test_a_tangent() -> None:
    """Step 3: forward mode uses what save_for_forward kept."""
    x, tangent = numbers(4), numbers(4) + 1
    value, found, *_ = torch.func.jvp(ours, (x,), (tangent,))
    same(plain(x), value, "the value under jvp")
    same(tangent * x / plain(x), found, "the tangent")


def test_forward_mode_gradcheck_agrees() -> None:
    """Compare jvp with finite differences."""
    x = numbers(2, 3).requires_grad_()
    assert gradcheck(ours, (x,), check_forward_ad=True), (
        "the tangent of y is not x / y times the tangent of x"
    )


def test_vmap() -> None:
    """Step 4: the rule that PyTorch generates takes a batch along any dim."""
    x = numbers(3, 4)
    same(plain(x), ours(x), "values")
    for dim in (0, 1, -1):
        found = torch.func.vmap(ours, dim)(x)
        same(plain(x.movedim(dim, 0)), found, f"vmap over dim {dim}")


def test_vmap_runs_forward_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run forward once for the whole batch, not once for each element."""
    calls: list[int] = []
    forward = kata.Smooth.forward

    def noted(x: torch.Tensor, eps: float) -> torch.Tensor:
        calls.append(x.dim())
        return forward(x, eps)

    monkeypatch.setattr(kata.Smooth, "forward", staticmethod(noted))
    x = numbers(6, 2)
    same(plain(x), ours(x), "values")
    calls.clear()
    torch.func.vmap(ours)(x)
    assert 1 == len(calls), f"forward ran {len(calls)} times for a batch of 6, expected once"


@pytest.mark.parametrize("jacobian", [torch.func.jacrev, torch.func.jacfwd])
def test_jacobians(jacobian: type) -> None:
    """Both jacrev and jacfwd use vmap: of your backward, and of your jvp."""
    x = numbers(4)
    same(plain(x), ours(x), "values")
    same(torch.diag(x / plain(x)), jacobian(ours)(x), jacobian.__name__)


def test_gradients_of_each_sample() -> None:
    """Vmap of grad: the transforms nest."""
    x = numbers(5, 3)
    same(plain(x), ours(x), "values")
    found = torch.func.vmap(torch.func.grad(lambda x: ours(x).sum()))(x)
    same(x / plain(x), found, "vmap of grad")


def test_a_hessian() -> None:
    """Forward over reverse: the tangent of a gradient."""
    x = numbers(3)
    same(plain(x), ours(x), "values")
    expected = torch.func.hessian(lambda x: plain(x).sum())(x)
    same(expected, torch.func.hessian(lambda x: ours(x).sum())(x), "the Hessian")


def test_a_write_to_x_is_noticed() -> None:
    """save_for_backward notices a write to x; an attribute of ctx would not."""
    x = numbers(3).requires_grad_()
    twin = x * 1
    y = ours(twin)
    twin.detach().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
