"""Predict attention over nothing: zero, NaN, or the mean.

A row of an attention mask forbids everything. What is a softmax over nothing?

    keep = torch.tensor([[False, False], [True, True]])
    v = torch.tensor([[2.0], [4.0]])
    scaled_dot_product_attention(v, v, v, attn_mask=keep)[0]       # tensor([0.])

Here it is zero, elsewhere NaN. Predict the first output row of all six programs, about 8
lines; the tests run PyTorch.

Begin with `by_softmax`: what is exp(-inf)?
Afterwards find ``_safe_softmax`` in ``torch/_decomp/decompositions.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


# Given: do not change. Each program gets values of shape (2, 1): 2 and 4.
def by_softmax(v: torch.Tensor) -> torch.Tensor:
    """Add -inf to all scores of the row, and take the softmax."""
    scores = v @ v.t()
    scores[0] = -float("inf")
    return scores.softmax(-1) @ v


def by_large_number(v: torch.Tensor) -> torch.Tensor:
    """Replace all scores of the row with -1e9, and take the softmax."""
    scores = v @ v.t()
    scores[0] = -1e9
    return scores.softmax(-1) @ v


def all_true(v: torch.Tensor) -> torch.Tensor:
    """Give scaled_dot_product_attention a bool mask that is True in the row."""
    mask = v.new_zeros(2, 2).bool()
    mask[0] = True
    return torch.nn.functional.scaled_dot_product_attention(v * 0, v * 0, v, attn_mask=mask)


def module(v: torch.Tensor, *, mask_of: bool, need_weights: bool) -> torch.Tensor:
    """Call a MultiheadAttention whose four projections are the identity."""
    attention = torch.nn.MultiheadAttention(1, 1, bias=False)
    for weight in attention.parameters():
        torch.nn.init.ones_(weight)
    mask = torch.zeros(2, 2, dtype=torch.bool)
    mask[0] = mask_of
    return attention(v, v, v, attn_mask=mask, need_weights=need_weights)[0]


def module_with_weights(v: torch.Tensor) -> torch.Tensor:
    """Give MultiheadAttention a mask that is True in the row, and ask for the weights too."""
    return module(v, mask_of=True, need_weights=True)


def module_without_weights(v: torch.Tensor) -> torch.Tensor:
    """Give MultiheadAttention the same mask, and do not ask for the weights."""
    return module(v, mask_of=True, need_weights=False)


def module_gradient(v: torch.Tensor) -> torch.Tensor:
    """Return the gradient of the sum of `module_with_weights` with respect to the values."""
    v = v.clone().requires_grad_()
    return torch.autograd.grad(module_with_weights(v).sum(), v)[0]


PROGRAMS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    function.__name__: function
    for function in (
        by_softmax,
        by_large_number,
        all_true,
        module_with_weights,
        module_without_weights,
        module_gradient,
    )
}


def predictions() -> dict[str, str]:
    """Return "zero", "nan" or "mean" for the first row of the result of each of `PROGRAMS`.

    The mean of 2 and 4 is 3. True means "may look" to scaled_dot_product_attention, and "may not
    look" to a Module.
    """
    # TODO: return {"by_softmax": ..., ...}
    raise NotImplementedError("predictions")
