"""Does this backward match its forward? gradcheck from scratch.

A model whose formula has a wrong factor still trains, a little worse, without an error. Comparing
two Jacobians finds it: one from differences, which use only forward, and one from backward passes:

    column j   (fn(x + eps * e_j) - fn(x - eps * e_j)) / (2 * eps)      e_j is 1 at j, else 0
    row i      the gradient of x for a gradient of the result that is 1 at i, else 0

Write both and compare them, for functions from one tensor to one tensor in float64 or complex128:
about 35 lines, in four steps. Each turns a group of tests green.

1. `numerical_jacobian`: two calls of `fn` for each number of x.
2. `analytical_jacobian`: one call, and a backward for each number of the result.
3. Both for complex tensors: each number counts as two, its real and then its imaginary part, as in
   ``torch.view_as_real``. Rows send back 1, then 1j.
4. `gradcheck`: run backward twice, then compare.

- ``torch.autograd.gradcheck``, ``torch.autograd.functional`` and ``torch.func`` are what you write:
  don't call them.

Begin on paper: the Jacobian of ``z.conj()``, two real numbers to two.
Afterwards open ``torch/autograd/gradcheck.py`` in site-packages (``_get_numerical_jacobian``).
Real life differs: several inputs and results, forward mode, and a fast mode with random vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


class GradcheckError(Exception):
    """A backward is not the derivative of its forward."""


# ---- given: what to raise --------------------------------------------------------------------


def not_deterministic() -> GradcheckError:
    """Return the error for a backward that differs from run to run."""
    return GradcheckError("backward is not deterministic")


def mismatch(numerical: torch.Tensor, analytical: torch.Tensor) -> GradcheckError:
    """Return the error for Jacobians that do not agree."""
    return GradcheckError(f"mismatch: numerical {numerical}, analytical {analytical}")


# ---- the exercise ----------------------------------------------------------------------------


def numerical_jacobian(
    fn: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, eps: float = 1e-6
) -> torch.Tensor:
    """Return the Jacobian of `fn` at `x` by central differences, without a backward.

    It is float64, with a row for each real number of the result and a column for each of `x`, both
    in the order of ``flatten()``. It has no history, even if `fn` uses weights that need a
    gradient. `fn` gets the shape and dtype of `x`, with one number nudged and all others bit for
    bit the same; it may return a view of its argument. `x` may have any strides; do not change it.
    """
    # TODO: nudge one real number at a time, both ways.
    raise NotImplementedError("numerical_jacobian")


def analytical_jacobian(
    fn: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor
) -> torch.Tensor:
    """Return the Jacobian of `fn` at `x` by backward passes, in `numerical_jacobian`'s layout.

    It is zero where the result doesn't depend on `x`, or has no history. Leave ``x.grad`` alone.
    `fn` may return ``z.conj()``, which is lazy: see ``Tensor.resolve_conj``.
    """
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

    |numerical - analytical| may be at most ``atol + rtol * |numerical|`` at each position. Two
    analytical Jacobians must be exactly equal; check that first.

    Raises
    ------
    ValueError
        If `x` is neither float64 nor complex128: differences would be noise. Given.
    GradcheckError
        `not_deterministic` or `mismatch`.
    """
    if x.dtype not in {torch.float64, torch.complex128}:
        raise ValueError(f"{x.dtype} is too coarse for differences")
    # TODO: equal twice, then close.
    raise NotImplementedError("gradcheck")
