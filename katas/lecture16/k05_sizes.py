"""Sizes that depend on data: make four programs exportable.

An export follows a program once, with symbols for sizes and no values at all. Three of these four
programs stop it. The fourth exports, and serves one batch size:

    shifted         if x.sum() > 0:                  a branch on a value
    repeated        for _ in range(int(n)):          a count that is a value
    positive_mean   if len(kept):                    a size that is a value
    scaled          x / int(x.shape[0])              a size that became a number

Rewrite each in a line or two, so that its file takes any batch and returns what the old program
did.

Begin with ``torch.cond``: it takes two functions, and the file contains both.
Afterwards read ``_guard_or`` and its callers in ``torch/fx/experimental/symbolic_shapes.py``, in
site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import torch


# TODO: rewrite each. Nothing raises NotImplementedError here: eager runs them, the exporter cannot.


def shifted(x: torch.Tensor) -> torch.Tensor:
    """Return x + 1 if the sum of x is positive, else x - 1."""
    return x + 1 if x.sum() > 0 else x - 1


def repeated(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    """Return x, doubled n times; n is a 0-dim int64 tensor, from 0 to 100."""
    for _ in range(int(n)):
        x = x + x
    return x


def positive_mean(x: torch.Tensor) -> torch.Tensor:
    """Return the mean of the positive elements, 0 if there are none; others may be NaN or -inf."""
    kept = x[x > 0]
    return kept.mean() if len(kept) else x.new_zeros(())


def scaled(x: torch.Tensor) -> torch.Tensor:
    """Return x divided by its number of rows."""
    return x / int(x.shape[0])
