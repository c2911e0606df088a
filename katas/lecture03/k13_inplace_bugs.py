"""Debug: six functions, each broken by one in-place operation or one ``.data``.

The code below runs, more or less. Each function has exactly one bug of the kind that in-place
operations invite, and each docstring says what the function shall do. Some bugs stop with a
RuntimeError in forward or in backward, others give a wrong gradient without a word. Mend all
six; one changed line each is enough, except for `players`, where lines change places.

How autograd protects itself: a node of the graph that needs a tensor for its backward formula
saves it together with its *version*: a counter that the tensor has in common with its views, and
that each in-place operation adds one to. In backward the two are compared. A write through
``.data`` does not count, so nobody notices. A detached tensor shares storage and counter;
``detach_`` has no copy to detach, it cuts the tensor itself out of the graph.

Every function must leave its arguments as they are (`players` alone updates its two weights),
take tensors of any floating dtype, on any device, and be differentiable twice. Tests call them
with inputs that require grad, leaves and others; no error may be silenced: the values and the
gradients must be right.

In PyTorch: ``torch/csrc/autograd/saved_variable.cpp`` (``SavedVariable::unpack`` compares the
versions), ``torch/csrc/autograd/VariableTypeUtils.h`` (``check_inplace``),
``aten/src/ATen/MemoryOverlap.cpp`` (``assert_no_internal_overlap``). ``tools/autograd/
derivatives.yaml`` says which formula needs which tensor: a formula that names ``result`` saves
the output. Nothing raises NotImplementedError here: the code is written, and wrong.
"""

from __future__ import annotations

import torch
from torch import Tensor


# TODO: find and mend one bug in each function.


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
    """Return tanh(x) cut off at -limit and limit; no gradient flows where it is cut off."""
    y = x.tanh()
    y.data.clamp_(-limit, limit)
    return y


def add_bias(rows: Tensor, bias: Tensor) -> Tensor:
    """Return rows (n, m) plus bias (m,), the same bias for every row."""
    total = bias.expand_as(rows)
    total += rows
    return total


def unroll(x: Tensor, weight: Tensor, steps: int) -> tuple[Tensor, list[Tensor]]:
    """Apply h = tanh(h @ weight) `steps` times, from h = x (n, m); weight is (m, m).

    Return the last h, and a log of every h after a step, in order, that requires no grad.
    The gradient flows through all steps, back to x; the log does not change what flows.
    """
    h = x
    log = []
    for _ in range(steps):
        h = (h @ weight).tanh()
        log.append(h.detach_())
    return h, log


def players(first: Tensor, second: Tensor, x: Tensor, rate: float) -> None:
    """Let two players take one step of gradient descent at the same time, in place.

    With out = x @ first @ second, `second` wants mean(out²) to be small, and `first` wants
    mean((out - 1)²) to be small. Each weight (two leaves that require grad) moves by -rate
    times the gradient of its own loss, and both gradients are taken before anyone moves.
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
