"""An operator of one's own in Python: schema, fake kernel, gradients, batching rule.

A function that leaves PyTorch (for NumPy, a C library, a service) is opaque: autograd, vmap and
torch.compile cannot look into it. As an *operator* it becomes one thing that they can name and
ask. You register two, in the namespace ``lecture09_k01``, with ``torch.library.custom_op`` or with
``torch.library.Library`` (``define`` and ``impl``), as you like:

  simplex(Tensor x, Tensor total) -> Tensor
  simplex_(Tensor(a!) x, Tensor total) -> ()       (any letter; it is written to)

Both have the kernel ``project`` (given, in NumPy). It replaces each row x, along the last dim, by
the nearest y without negative elements whose sum is the row's total:

  y[i] = max(x[i] - tau, 0),   tau = (sum of x over S - total) / k

where S, the support, is where y is positive, and k how many elements that are. Between jumps of
the support, which have no derivative, S and k are constants: that is all you need for gradients.

**simplex** returns a new contiguous tensor of x's shape and dtype.

- x: float32 or float64, shape (..., n), any strides. total: the same dtype, shape (...), positive
  elements (not checked). Checked, in this order, by the kernel and the fake kernel:
    TypeError "simplex: expected two float32 or two float64 tensors, got torch.int64 and
        torch.float32" (all errors on one line)
    ValueError "simplex: expected rows of one element or more, got shape (3, 0)" (also for ())
    ValueError "simplex: expected total of shape (3,), got (4,)"
- The kernel is for the CPU alone, not for every backend (CompositeExplicitAutograd): ``.numpy()``
  knows no other device. It calls ``project`` once, on the rows as they come (``project`` takes any
  number of leading dims). x may require grad, which ``.numpy()`` refuses in grad mode: detach.
  (``Library.impl`` alone leaves grad mode on; ``custom_op`` and ``register_autograd`` turn it off.)
- The fake kernel looks at shapes, strides and dtypes and makes an empty tensor: never ``project``,
  no made-up data. It serves meta tensors and FakeTensor, where sizes are symbols.
- Gradients of x and of total, by ``register_autograd`` with a ``setup_context``. Saved for
  backward: one tensor, the result, which is enough. Backward is made of torch's operations on the
  gradient and on what is saved, so that it can be differentiated again, batched
  (``is_grads_batched``) and traced.
- The batching rule, by ``register_vmap``: one call of simplex for the whole batch, never a loop,
  so one call of ``project``. Either input may be batched, along any dim, or not at all
  (``in_dims`` then holds None and the rule has to make the batch itself, ``info.batch_size``);
  nested vmaps, and gradients through vmap, follow by themselves.

**simplex_** writes the result over x, through x's strides, and returns None. Its schema must say
so: who reads the schema (functionalization, autograd's version counter) has no other way to know.
It makes the same checks, with the same messages, calls ``project`` once, on the CPU alone.
Fake tensors need no fake kernel: there is nothing to return. It has no gradient either: PyTorch
refuses ``register_autograd`` for what writes to its inputs.

Out of scope: other devices, vmap of simplex_, NaN and infinities, and what ``register_autograd``
does not serve. ``torch.func.grad`` raises an error. Beware of forward mode: ``torch.func.jvp`` of
simplex has a tangent of zeros, and says nothing.

About 45 lines. In PyTorch: ``torch/library.py`` (``register_fake``, ``register_autograd``,
``register_vmap``, ``opcheck``), ``torch/_library/custom_ops.py`` (``custom_op``, ``CustomOpDef``),
``torch/_library/autograd.py`` (``make_autograd_impl``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch  # noqa: F401 - your answer calls it
from torch import Tensor  # noqa: TC002 - custom_op reads annotations while it runs


def project(x: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return each row of `x` projected to its `total`. Given, do not change: the opaque kernel."""
    descending = -np.sort(-x, axis=-1)
    sums = descending.cumsum(axis=-1)
    ranks = np.arange(1, x.shape[-1] + 1)
    size = (ranks * descending > sums - total[..., None]).sum(axis=-1, keepdims=True)
    tau = (np.take_along_axis(sums, size - 1, axis=-1) - total[..., None]) / size
    return np.maximum(x - tau, 0).astype(x.dtype)


# TODO: make an operator of this, lecture09_k01::simplex, with a kernel for the CPU.
def simplex(x: Tensor, total: Tensor) -> Tensor:
    """Return the rows of `x`, each projected to its element of `total`."""
    raise NotImplementedError("simplex")


# TODO: register this for simplex.
def simplex_fake(x: Tensor, total: Tensor) -> Tensor:
    """Return an empty tensor that looks like the result."""
    raise NotImplementedError("simplex_fake")


# TODO: register these two for simplex.
def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Save what backward needs."""
    raise NotImplementedError("setup_context")


def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of x and of total."""
    raise NotImplementedError("backward")


# TODO: register this for simplex.
def simplex_vmap(
    info: Any, in_dims: tuple[int | None, int | None], x: Tensor, total: Tensor
) -> tuple[Tensor, int]:
    """Return the result of the whole batch, and along which dim of it the batch lies."""
    raise NotImplementedError("simplex_vmap")


# TODO: make an operator of this, lecture09_k01::simplex_, with a kernel for the CPU.
def simplex_(x: Tensor, total: Tensor) -> None:
    """Write over `x` what simplex would return."""
    raise NotImplementedError("simplex_")
