"""An operator of your own in Python: one unit that PyTorch can name and query.

project (given) is NumPy: autograd, vmap and torch.compile cannot look into it. As an operator it
answers their questions, each by a registration:

  question                       registered by
  what does it return?           register_fake      meta and fake tensors: no data, no project
  what is its gradient?          register_autograd  saves the result alone
  what does it do to a batch?    register_vmap      one call of project, never a loop
  what does it write to?         the schema         mutates_args

project replaces each row by the nearest y without negative elements whose sum is the row's total:

  y[i] = max(x[i] - tau, 0)    tau = (sum of x where y is positive - total) / number of positive y

Register lecture09_k22::simplex and lecture09_k22::simplex_, which overwrites x. About 25 lines.

- Both kernels are for the CPU alone, and call check and project once; the fake kernel calls check
  too.
- simplex returns a contiguous tensor, whatever the strides of x.

Begin on paper: how far does y[0] move if x[0] rises by 1, and k elements are positive?
Afterwards read CustomOpDef in torch/_library/custom_ops.py.
Real life differs: torch.func.grad of this operator raises; torch.func.jvp silently gives a zero
tangent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def project(x: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Project each row of `x` to sum to its `total`. Given, do not change: the opaque kernel."""
    descending = -np.sort(-x, axis=-1)
    sums = descending.cumsum(axis=-1)
    ranks = np.arange(1, x.shape[-1] + 1)
    size = (ranks * descending > sums - total[..., None]).sum(axis=-1, keepdims=True)
    tau = (np.take_along_axis(sums, size - 1, axis=-1) - total[..., None]) / size
    return np.maximum(x - tau, 0).astype(x.dtype)


def check(x: Tensor, total: Tensor) -> None:
    """Raise for arguments that simplex and simplex_ do not take. Given, do not change."""
    if x.dtype != total.dtype or x.dtype not in {torch.float32, torch.float64}:
        raise TypeError(
            f"simplex: expected two float32 or two float64 tensors, got {x.dtype} and {total.dtype}"
        )
    if x.dim() == 0 or x.shape[-1] == 0:
        raise ValueError(
            f"simplex: expected rows of one element or more, got shape {tuple(x.shape)}"
        )
    if total.shape != x.shape[:-1]:
        raise ValueError(
            f"simplex: expected total of shape {tuple(x.shape[:-1])}, got {tuple(total.shape)}"
        )


# TODO: turn this into an operator, lecture09_k22::simplex, with a kernel for the CPU.
def simplex(x: Tensor, total: Tensor) -> Tensor:
    """Return the rows of `x`, each projected to sum to its element of `total`, as a new tensor.

    x is float32 or float64, of shape (..., n), with any strides; total has the shape (...).
    """
    raise NotImplementedError("simplex")


# TODO: register this for simplex.
def simplex_fake(x: Tensor, total: Tensor) -> Tensor:
    """Return an empty tensor like the result, strides included; sizes may be symbols."""
    raise NotImplementedError("simplex_fake")


# TODO: register these two for simplex.
def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Save what backward needs."""
    raise NotImplementedError("setup_context")


def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of x and of total, by torch operations on `grad` and the saved result.

    Take the set of positive y as fixed; the points where it changes have no derivative.
    """
    raise NotImplementedError("backward")


# TODO: register this for simplex.
def simplex_vmap(
    info: Any, in_dims: tuple[int | None, int | None], x: Tensor, total: Tensor
) -> tuple[Tensor, int]:
    """Return the result for the whole batch, and which of its dims is the batch.

    Either input may have its batch along any dim, or no batch (None); info.batch_size is its size.
    """
    raise NotImplementedError("simplex_vmap")


# TODO: turn this into an operator, lecture09_k22::simplex_, with a kernel for the CPU.
def simplex_(x: Tensor, total: Tensor) -> None:
    """Overwrite `x` with what simplex would return."""
    raise NotImplementedError("simplex_")
