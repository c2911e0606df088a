"""Check a backward against its forward: gradcheck from scratch.

A Jacobian can be had in two ways: by differences, which needs the forward only, and by as many
backwards as the function has results. If the two disagree, a formula is wrong. Write both ways
and the check, for functions `fn` from one tensor to one tensor, float64 or complex128.

A complex number counts as two real ones, its real and its imaginary part, in this order
(``torch.view_as_real``). So a Jacobian is always a real float64 matrix: one row per real number
of the result, one column per real number of the input, both in the order of ``flatten()``.
This fits PyTorch's convention: the gradient by a complex z = x + iy of a real loss L is
dL/dx + i dL/dy, and so is the `grad` that a backward is given.

1. ``numerical_jacobian(fn, x, eps)``: by central differences,
   (fn(x + eps) - fn(x - eps)) / (2 eps), for one real number of x at a time: two calls of `fn` for
   each, no more, and no backward. Put a number back exactly before you nudge the next. `x` may
   have any strides (transposed, say) and is the same afterwards; `fn` sees the shape and the dtype
   of `x`, and may return a view of what it is given. The Jacobian has no history, even if `fn` uses
   weights that need a gradient.
2. ``analytical_jacobian(fn, x)``: from one call of `fn`, and one backward for each real number of
   the result, with a gradient that is 1 (or 1j) there and 0 elsewhere. If the result does not
   depend on `x`, or has no history, the Jacobian is zero. The ``.grad`` of `x` is left alone.
   `fn` may return ``z.conj()``, which is lazy (``Tensor.resolve_conj``).
3. ``gradcheck(fn, x, eps, atol, rtol)``: return True, or raise

   - ``ValueError`` if x is neither float64 nor complex128: the differences would be noise;
   - ``GradcheckError`` whose message contains "not deterministic" if two analytical Jacobians are
     not exactly equal;
   - ``GradcheckError`` whose message contains "mismatch" if |numerical - analytical| is larger
     than atol + rtol * |numerical| anywhere.

   In this order.

Not allowed: ``torch.autograd.gradcheck``, ``torch.autograd.functional`` and ``torch.func``. Out of
scope: other devices than the CPU, several inputs or results, an x without elements, sparse
tensors, forward mode.

About 40 lines. In PyTorch: ``torch/autograd/gradcheck.py`` (``_get_numerical_jacobian``,
``_check_analytical_jacobian_attributes``, ``_allclose_with_type_promotion``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable

    import torch


class GradcheckError(Exception):
    """A backward is not the derivative of its forward."""


def numerical_jacobian(
    fn: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, eps: float = 1e-6
) -> torch.Tensor:
    """Return the Jacobian of `fn` at `x` by central differences."""
    # TODO: nudge one real number at a time, both ways.
    raise NotImplementedError("numerical_jacobian")


def analytical_jacobian(
    fn: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor
) -> torch.Tensor:
    """Return the Jacobian of `fn` at `x` by backwards."""
    # TODO: one backward makes one row.
    raise NotImplementedError("analytical_jacobian")


def gradcheck(
    fn: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
) -> bool:
    """Return True if both Jacobians of `fn` at `x` agree.

    Raises
    ------
    ValueError
        If the dtype of `x` is not of double precision.
    GradcheckError
        If backward is not deterministic, or does not agree with the differences.
    """
    # TODO: dtype, twice the same, close.
    raise NotImplementedError("gradcheck")
