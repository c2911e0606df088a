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
    # TODO: how many ids does each bag have? Then one row of grad for each id
    raise NotImplementedError("table_gradient")


def build(name: str) -> CustomOpDef:
    """Return the operator lecture25_k03::{name}, with a fake kernel and a formula.

    - The fake kernel returns an empty tensor with the shape, dtype and device of the bags.
    - Only the table gets a gradient: `table_gradient`. For the formula, keep ids and
      offsets with save_for_backward; of the table, keep only numbers.
    """
    operator = torch.library.custom_op(  # noqa: F841
        f"{NAMESPACE}::{name}", kernel, mutates_args=(), schema=SCHEMA
    )
    # TODO: register_fake; register_autograd with setup_context; return the operator
    raise NotImplementedError("build")
