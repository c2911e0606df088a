"""An operator of your own in Python: schema, fake kernel, gradients, batching rule."""

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


def _kernel(x: Tensor, total: Tensor) -> Tensor:
    check(x, total)
    result = torch.from_numpy(project(x.detach().numpy(), total.detach().numpy()))
    # NumPy keeps the layout of a transposed x.
    return result.contiguous()


@torch.library.custom_op("lecture09_k22::simplex", mutates_args=(), device_types="cpu")
def simplex(x: Tensor, total: Tensor) -> Tensor:
    """Return the rows of `x`, each projected to its element of `total`."""
    return _kernel(x, total)


@simplex.register_fake
def simplex_fake(x: Tensor, total: Tensor) -> Tensor:
    """Return an empty tensor that looks like the result."""
    check(x, total)
    # Contiguous, like the kernel's result: empty_like would keep the strides of a transposed x.
    return x.new_empty(x.shape)


def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Save what backward needs."""
    ctx.save_for_backward(output)


def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of x and of total."""
    (output,) = ctx.saved_tensors
    support = output > 0
    # On the support of k elements, y is x minus the mean of x there, plus total / k.
    mean = (grad * support).sum(-1) / support.sum(-1)
    return (grad - mean.unsqueeze(-1)) * support, mean


simplex.register_autograd(backward, setup_context=setup_context)


@simplex.register_vmap
def simplex_vmap(
    info: Any, in_dims: tuple[int | None, int | None], x: Tensor, total: Tensor
) -> tuple[Tensor, int]:
    """Return the result for the whole batch, and which of its dims is the batch."""
    x, total = (
        tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
        for tensor, dim in zip((x, total), in_dims, strict=True)
    )
    return simplex(x, total), 0


@torch.library.custom_op("lecture09_k22::simplex_", mutates_args={"x"}, device_types="cpu")
def simplex_(x: Tensor, total: Tensor) -> None:
    """Overwrite `x` with what simplex would return."""
    x.copy_(_kernel(x, total))
