"""Debug: the kernels are right, but their schemas lie.

A schema is a promise. Tensor(a!) is written to; two tensors with the same letter may share memory;
all others are only read, or new. PyTorch never looks into your kernel to check:

    def f(x, total):
        torch.ops.lecture04_k03.add_to(x, total)    # a write that its schema hides
    graph = make_fx(f)(x, total).graph
    graph.eliminate_dead_code()                     # and the call is gone

Of the five schemas below, four are false. Mend those; the tests register them with the kernels.

Begin with negate_: compare its schema with that of torch.ops.aten.neg_.default.
Afterwards read opcheck in torch/library.py, in site-packages: it finds such lies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from torch import Tensor


def negate_(self: Tensor) -> Tensor:
    """Negate each element in place. All kernels are given."""
    return self.neg_()


def first_half(self: Tensor) -> Tensor:
    """Take the first half of the rows."""
    return self.narrow(0, 0, self.size(0) // 2)


def add_to(x: Tensor, total: Tensor) -> None:
    """Add x to the total."""
    total.add_(x)


def halved(self: Tensor) -> Tensor:
    """Halve each element."""
    return self.mul(0.5)


def keep_max_(self: Tensor, other: Tensor) -> Tensor:
    """Keep the larger of each pair of elements."""
    return self.copy_(self.maximum(other))


KERNELS = (negate_, first_half, add_to, halved, keep_max_)

SCHEMAS = (
    "negate_(Tensor(a!) self) -> Tensor(a!)",
    "first_half(Tensor(a) self) -> Tensor(a)",
    "add_to(Tensor x, Tensor(a!) total) -> ()",
    # A false promise of sharing speeds up nothing, and makes a compiler copy.
    "halved(Tensor self) -> Tensor",
    "keep_max_(Tensor(a!) self, Tensor other) -> Tensor(a!)",
)
