"""Tests of k06_phase: gradients on paper, gradcheck and gradgradcheck, and silence."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from katas.lecture22.k06_phase import Polar
from katas.lecture22.k06_phase import numeric
from katas.lecture22.k06_phase import parts
from plugins.kit import unchanged


def numbers(*size: int) -> torch.Tensor:
    """Return irrational complex numbers."""
    dice = torch.Generator().manual_seed(sum(size))
    return torch.randn(*size, dtype=torch.complex128, generator=dice)


def compare(yours: torch.Tensor, expected: Any, why: str, tolerance: float = 1e-12) -> None:
    """Compare with tensors or numbers, shape and dtype too."""
    __tracebackhide__ = True
    right = expected if isinstance(expected, torch.Tensor) else torch.tensor(expected)
    torch.testing.assert_close(
        yours,
        right,
        rtol=tolerance,
        atol=tolerance,
        msg=lambda text: f"{why}\nyours {yours.tolist()}\nexpected {right.tolist()}\n{text}",
    )


def exact(values: Any) -> torch.Tensor:
    """Return complex numbers in double precision."""
    return torch.tensor(values, dtype=torch.complex128)


def slope(loss: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """Return autograd's gradient."""
    return torch.autograd.grad(loss, z)[0]


def test_parts_are_a_view() -> None:
    """Two real numbers for each complex one, in the same memory."""
    z = torch.tensor([1 + 2j, 3 - 4j])
    yours = parts(z)

    compare(yours, [[1.0, 2.0], [3.0, -4.0]], "parts of 1 + 2j and 3 - 4j")
    same = yours.untyped_storage().data_ptr() == z.untyped_storage().data_ptr()
    assert same, "your parts are a copy; they should share the memory of z"


def test_parts_of_a_conjugate_view() -> None:
    """Its memory still holds the imaginary parts from before the conjugation."""
    z = torch.tensor([[1 + 2j, 3 - 4j]])
    with unchanged(z=z):
        yours = parts(z.mH)

    compare(yours, [[[1.0, -2.0]], [[3.0, 4.0]]], "parts of the conjugates of 1 + 2j and 3 - 4j")


def test_the_steepest_way_up() -> None:
    """On paper: |z| ** 2 grows fastest along z itself, and the imaginary part along 1j."""
    z = torch.tensor([3 + 4j, -1 + 0j], dtype=torch.complex128)
    yours = numeric(lambda x: x.abs().square().sum(), z)

    compare(yours, exact([6 + 8j, -2]), "of |z| ** 2 at 3 + 4j and -1: 2 z", 1e-7)
    yours = numeric(lambda x: x.imag.sum(), z)
    compare(yours, exact([1j, 1j]), "of the imaginary part: 1j, and not -1j", 1e-7)


def test_numeric_is_what_autograd_has() -> None:
    """Compare for transposed and conjugate matrices, and for functions that mix their numbers."""
    weights = numbers(2, 3)
    for z, what in (
        (numbers(2, 3), "a matrix"),
        (numbers(3, 2).mT, "a transposed matrix"),
        (numbers(3, 2).mH, "a conjugate view"),
    ):

        def f(x: torch.Tensor) -> torch.Tensor:
            return (x * weights).sum().square().real + x.abs().prod()

        leaf = z.resolve_conj().clone().requires_grad_()
        compare(numeric(f, z), slope(f(leaf), leaf), f"{what}: numeric and autograd", 1e-6)


def test_numeric_leaves_z_alone() -> None:
    """The input z may require a gradient; the result has no graph, and `eps` is the step."""
    z = numbers(3).requires_grad_()
    seen: list[float] = []

    def f(x: torch.Tensor) -> torch.Tensor:
        seen.append((x - z).abs().max().item())
        return x.abs().square().sum()

    with unchanged(z=z):
        yours = numeric(f, z, 0.3)
    assert not yours.requires_grad, "your gradient requires grad, expected no graph"
    assert yours.dtype == torch.complex128, f"yours is {yours.dtype}, expected z's complex128"
    steps = sorted({round(step, 9) for step in seen} - {0})
    assert steps == [0.3], (
        f"with eps 0.3, your code calls f at distances {steps} from z, expected [0.3]"
    )
    compare(yours, 2 * z.detach(), "of |z| ** 2, with steps of 0.3: central differences are exact")
    single = z.detach().to(torch.complex64)
    yours = numeric(lambda x: x.abs().square().sum(), single, 1e-2)
    compare(yours, 2 * single, "of complex64: a gradient of complex64", 1e-3)


def test_magnitude_and_phase() -> None:
    """The values of abs and angle."""
    z = torch.cat([numbers(5), torch.zeros(1)])
    with unchanged(z=z):
        r, phi = Polar.apply(z)

    compare(r, z.abs(), "the magnitude")
    compare(phi, z.angle(), "the phase")


def test_both_come_from_one_backward() -> None:
    """The graph has your function, not abs and angle."""
    r, phi = Polar.apply(numbers(3).requires_grad_())

    found = (type(r.grad_fn).__name__, type(phi.grad_fn).__name__)
    assert found == ("PolarBackward",) * 2, (
        f"grad_fn of r and phi: yours {found}, not PolarBackward"
    )


def test_gradients_on_paper() -> None:
    """At 3 + 4j, r grows along z, and phi perpendicular to it."""
    z = torch.tensor(3 + 4j, dtype=torch.complex128, requires_grad=True)
    yours = slope(Polar.apply(z)[0], z)
    compare(yours, exact(0.6 + 0.8j), "the gradient of r at 3 + 4j: z / |z|")
    yours = slope(Polar.apply(z)[1], z)
    compare(yours, exact((-4 + 3j) / 25), "the gradient of phi at 3 + 4j: 1j z / |z| ** 2")
    r, phi = Polar.apply(z)
    yours = slope(2 * r + phi, z)
    compare(yours, exact(1.2 + 1.6j + (-4 + 3j) / 25), "of 2 r + phi: scaled and added up")


def test_gradcheck() -> None:
    """Finite differences agree with your backward, even for a conjugate view."""
    z = numbers(2, 3).requires_grad_()
    passed = torch.autograd.gradcheck(Polar.apply, z)
    assert passed, "gradcheck: your backward differs from finite differences"
    passed = torch.autograd.gradcheck(lambda x: Polar.apply(x.mH), z)
    assert passed, "gradcheck of a conjugate view: your backward differs from finite differences"


def test_gradgradcheck() -> None:
    """Your backward itself consists of operators that can be differentiated."""
    z = numbers(3).requires_grad_()
    passed = torch.autograd.gradgradcheck(Polar.apply, z, raise_exception=False)

    assert passed, (
        "gradgradcheck: the second derivative differs from finite differences. Your backward must"
        " be differentiable in z: if you save the values of r and phi, they are constants there"
    )


def test_silence() -> None:
    """A bin of 0 has gradient 0, and the other bins keep their gradients."""
    values = numbers(4)
    values[1] = 0
    z, other = values.clone().requires_grad_(), values.clone().requires_grad_()
    r, phi = Polar.apply(z)
    yours = slope((r * (phi + 2)).sum(), z)

    expected = slope((other.abs() * (other.angle() + 2)).sum(), other)
    compare(yours, expected, "z has a 0 at index 1: its gradient is 0, as with abs and angle")
    quiet = exact(1e-8).requires_grad_()
    r, phi = Polar.apply(quiet)
    compare(slope(r + phi, quiet), exact(1 + 1e8j), "at 1e-8: nearly silent, and not 0")


def test_silence_in_a_second_backward() -> None:
    """A penalty on gradients stays finite: a NaN that `where` has hidden would come back."""
    values = numbers(4)
    values[1] = 0
    z = values.requires_grad_()
    r, phi = Polar.apply(z)
    (first,) = torch.autograd.grad((r + phi).sum(), z, create_graph=True)
    yours = slope(first.abs().square().sum(), z)

    assert yours.isfinite().all(), (
        f"the second backward returns {yours.tolist()}: replace a divisor of 0 before you divide;"
        " do not replace the quotient afterwards"
    )


def test_only_one_is_used() -> None:
    """A loss of the phase alone, or of the magnitude alone, has a gradient too."""
    for index, name in enumerate(("r", "phi")):
        z = numbers(3).requires_grad_()
        yours = slope(Polar.apply(z)[index].sum(), z)
        expected = slope((z.abs(), z.angle())[index].sum(), z)
        compare(yours, expected, f"the gradient of {name} alone")


def test_single_precision() -> None:
    """Gradients of complex64 are complex64, and r and phi float32."""
    z = numbers(3).to(torch.complex64).requires_grad_()
    r, phi = Polar.apply(z)
    found = (r.dtype, phi.dtype, slope((r + phi).sum(), z).dtype)

    expected = (torch.float32, torch.float32, torch.complex64)
    assert found == expected, (
        f"dtypes of r, phi and the gradient: yours {found}, expected {expected}"
    )


def test_numeric_agrees_with_polar() -> None:
    """Your own check accepts your own backward, and rejects a wrong one."""
    z = numbers(4)

    def f(x: torch.Tensor) -> torch.Tensor:
        r, phi = Polar.apply(x)
        return (r.square() * phi.cos()).sum()

    leaf = z.clone().requires_grad_()
    compare(numeric(f, z), slope(f(leaf), leaf), "numeric, and backward through Polar", 1e-6)


@pytest.mark.given
def test_where_the_nan_comes_from() -> None:
    """In PyTorch, the square root of a sum of squares has gradient NaN at 0, and abs has 0."""
    z = torch.zeros(1, dtype=torch.complex128, requires_grad=True)
    root = torch.view_as_real(z).square().sum(-1).sqrt()
    found = slope(root.sum(), z)

    assert found.isnan().all(), (
        f"the square root of a sum of squares has gradient {found} at 0, expected NaN"
    )
    assert slope(z.abs().sum(), z).item() == 0, "the gradient of abs at 0 should be 0"
    with pytest.raises(RuntimeError, match="view_as_real"):
        torch.view_as_real(z.conj())
