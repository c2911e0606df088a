"""Debug: six functions, each broken by a single in-place write.

"One of the variables needed for gradient computation has been modified by an inplace operation."
That is the lucky case. Try the other one:

    x = torch.ones(1, requires_grad=True)
    y = x.exp()
    y.data.clamp_(max=1)
    y.sum().backward()
    print(x.grad)                # 1., not e: exp's backward multiplies by its result

Each function below has one such bug; its docstring says what it should do. Some raise a
RuntimeError, others silently give a wrong gradient. Fix all six by changing one line each, except
in `players`, where you reorder lines and rename one `move`.

- Do not change arguments; only `players` moves its two weights.
- Values, gradients and second gradients must be right, for any floating dtype.

Begin with trailing underscores, ``+=`` and ``.data``: which node has saved the tensor that is
written to?
Afterwards find ``result`` in the formulas of ``torchgen/packaged/autograd/derivatives.yaml``,
and read ``SavedVariable::unpack`` in PyTorch's ``torch/csrc/autograd/saved_variable.cpp``.
"""

from __future__ import annotations

import torch
from torch import Tensor


# TODO: find and fix one bug in each function. Nothing raises NotImplementedError here: the code is
# written, but wrong.


def softplus(x: Tensor) -> Tensor:
    """Return log(1 + exp(x)), element by element."""
    y = x.exp()
    y += 1
    return y.log()


def gated(a: Tensor, b: Tensor) -> Tensor:
    """Return a * b + relu(a), element by element."""
    product = a * b
    return product + a.relu_()


def limited_tanh(x: Tensor, limit: float) -> Tensor:
    """Return tanh(x) clipped to -limit and limit; no gradient flows where it is clipped."""
    y = x.tanh()
    y.data.clamp_(-limit, limit)
    return y


def add_bias(rows: Tensor, bias: Tensor) -> Tensor:
    """Return rows (n, m) plus bias (m,), which is added to each row."""
    total = bias.expand_as(rows)
    total += rows
    return total


def unroll(x: Tensor, weight: Tensor, steps: int) -> tuple[Tensor, list[Tensor]]:
    """Apply h = tanh(h @ weight) `steps` times, from h = x (n, m); weight is (m, m).

    Return the last h, and a log of the h after every step, in order, that requires no grad. The
    gradient flows through all steps, back to x; the log does not change it.
    """
    h = x
    log = []
    for _ in range(steps):
        h = (h @ weight).tanh()
        log.append(h.detach_())
    return h, log


def players(first: Tensor, second: Tensor, x: Tensor, rate: float) -> None:
    """Let two players take a step of gradient descent together, in place.

    With out = x @ first @ second, `second` wants mean(out²) to be small, and `first` wants
    mean((out - 1)²) to be small. Each weight (two leaves that require grad) moves by -rate times
    the gradient of its own loss, and both gradients are computed before either moves.
    """
    out = x @ first @ second
    mine = (out - 1).square().mean()
    yours = out.square().mean()
    (move,) = torch.autograd.grad(yours, second, retain_graph=True)
    with torch.no_grad():
        second -= rate * move
    (move,) = torch.autograd.grad(mine, first)
    with torch.no_grad():
        first -= rate * move
