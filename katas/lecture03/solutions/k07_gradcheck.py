"""Does this backward match its forward? gradcheck from scratch."""

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


def _real(tensor: torch.Tensor) -> torch.Tensor:
    """Return a flat tensor of the real numbers in `tensor`: a view if it is row-major."""
    if tensor.is_complex():
        # conj() is lazy: it only sets a bit, and a tensor with that bit has no real view.
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor.flatten()


@torch.no_grad()
def numerical_jacobian(
    fn: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, eps: float = 1e-6
) -> torch.Tensor:
    """Return the Jacobian of `fn` at `x` by central differences, without a backward."""
    nudged = x.clone(memory_format=torch.contiguous_format)
    numbers = _real(nudged)
    columns = []
    for place, before in enumerate(numbers.tolist()):
        # Clone, because the result may be a view of what is nudged next.
        numbers[place] = before + eps
        above = _real(fn(nudged)).clone()
        numbers[place] = before - eps
        columns.append((above - _real(fn(nudged))) / (2 * eps))
        numbers[place] = before
    return torch.stack(columns, 1)


def analytical_jacobian(
    fn: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor
) -> torch.Tensor:
    """Return the Jacobian of `fn` at `x` by backward passes, in `numerical_jacobian`'s layout."""
    leaf = x.detach().requires_grad_()
    result = fn(leaf)
    seed = torch.zeros_like(result, memory_format=torch.contiguous_format)
    jacobian = torch.zeros(len(_real(seed)), len(_real(x)), dtype=torch.float64)
    if not result.requires_grad:
        return jacobian
    numbers = _real(seed)
    for place, row in enumerate(jacobian):
        numbers[place] = 1
        (grad,) = torch.autograd.grad(result, leaf, seed, retain_graph=True, allow_unused=True)
        if grad is not None:
            row.copy_(_real(grad))
        numbers[place] = 0
    return jacobian


def gradcheck(
    fn: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
) -> bool:
    """Return True if both Jacobians of `fn` at `x` agree."""
    if x.dtype not in {torch.float64, torch.complex128}:
        raise ValueError(f"{x.dtype} is too coarse for differences")
    analytical = analytical_jacobian(fn, x)
    if not torch.equal(analytical, analytical_jacobian(fn, x)):
        raise not_deterministic()
    numerical = numerical_jacobian(fn, x, eps)
    if not torch.allclose(analytical, numerical, rtol, atol):
        raise mismatch(numerical, analytical)
    return True
