"""Give a bag a sparse gradient.

k02's operator has no formula for backward: PyTorch warns, and no gradient reaches the table. A bag
is a sum, so each id's row gets the bag's gradient; for a mean, divide it by the number of ids in
the bag:

    ids       3  1 | | 1  4  0            entry of row 3: grad[0]      row 1: grad[2]
    offsets   0     2 2                   entry of row 1: grad[0]      row 4: grad[2]   ...

A dense gradient of 10 ** 9 rows does not fit in memory: create one entry for each id, as in k01.

1. `table_gradient`: the entries, without a loop (4 lines).
2. `build`: a fake kernel and the formula (8 lines).

A traced program runs the formula on fake tensors, which have sizes and no values. A size that is
computed from values stops the trace: the number of entries has to come from a size.

Begin on paper: which bag holds ids[3], and how do you find it from offsets?
Afterwards read ``register_autograd`` in ``torch/library.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from torch.library import CustomOpDef


NAMESPACE = "lecture25_k03"
SCHEMA = "(Tensor table, Tensor ids, Tensor offsets, str mode) -> Tensor"


def kernel(
    table: torch.Tensor, ids: torch.Tensor, offsets: torch.Tensor, mode: str
) -> torch.Tensor:
    """Given: return the bags [bags, width] of ids [n]; mode is "sum" or "mean"."""
    return torch.nn.functional.embedding_bag(ids, table, offsets, mode=mode)


def sparse(ids: torch.Tensor, values: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """Given: return a sparse tensor of this size, with values [n, width] for the rows ids [n]."""
    return torch.sparse_coo_tensor(ids[None], values, size, check_invariants=False)


def table_gradient(
    grad: torch.Tensor, ids: torch.Tensor, offsets: torch.Tensor, rows: int, mode: str
) -> torch.Tensor:
    """Return the sparse gradient of a table [rows, width]; grad is the gradient of the bags.

    `grad` is [bags, width], and `mode` "sum" or "mean". Make one entry for each id, in the
    order of the ids, without merging; values have the dtype of grad. A bag may be empty, and there
    may be no ids. Do not loop.
    """
    lengths = torch.diff(offsets, append=offsets.new_full((1,), len(ids)))
    if mode == "mean":
        grad = grad / lengths[:, None]
    values = grad.repeat_interleave(lengths, 0, output_size=len(ids))
    return sparse(ids, values, (rows, grad.shape[1]))


def build(name: str) -> CustomOpDef:
    """Return the operator lecture25_k03::{name}, with a fake kernel and a formula.

    - The fake kernel returns an empty tensor with the shape, dtype and device of the bags.
    - Only the table gets a gradient: `table_gradient`. For the formula, keep ids and
      offsets with save_for_backward; of the table, keep only numbers.
    """
    operator = torch.library.custom_op(
        f"{NAMESPACE}::{name}", kernel, mutates_args=(), schema=SCHEMA
    )
    operator.register_fake(
        lambda table, _ids, offsets, _mode: table.new_empty(len(offsets), table.shape[1])
    )

    def setup(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        table, ids, offsets, ctx.mode = inputs
        ctx.rows = table.shape[0]
        ctx.save_for_backward(ids, offsets)

    def formula(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return table_gradient(grad, *ctx.saved_tensors, ctx.rows, ctx.mode), None, None, None

    operator.register_autograd(formula, setup_context=setup)
    return operator
