"""Look at the gradient of a table, entry by entry.

    table = torch.zeros(5, 2, requires_grad=True)
    F.embedding(torch.tensor([[2, 0], [2, 4]]), table, sparse=True).sum().backward()
    print(table.grad)

Four ids, `nnz=4`, and row 2 appears twice. Rows 1 and 3 are not stored, and the entries of row 2
are separate: `coalesce()` adds them.

Write `table_gradient`, which builds this tensor by hand, and `report`, which lists its entries.
About 6 lines.

Begin with ``table.grad.indices()``. Why does it raise?
Afterwards see ``coalesce`` in ``torch/_tensor_docs.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence


def sparse(rows: torch.Tensor, values: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """Given: return a sparse tensor of this size; rows is [1, n], values is [n, size[1]]."""
    return torch.sparse_coo_tensor(rows, values, size, check_invariants=True)


def line(what: str, row: int, values: Sequence[float]) -> str:
    """Given: return the line of one entry, such as "stored row 2: 1.0 0.5"."""
    return f"{what} row {row}: {' '.join(map(str, values))}\n"


def table_gradient(ids: torch.Tensor, grad: torch.Tensor, rows: int) -> torch.Tensor:
    """Return the sparse gradient of a table [rows, width], with one entry for each id.

    `ids` may have any shape; `grad`, the gradient of the rows looked up, is [*ids.shape, width].
    Entries are in the order of the ids.
    """
    width = grad.shape[-1]
    return sparse(ids.reshape(1, -1), grad.reshape(ids.numel(), width), (rows, width))


def report(gradient: torch.Tensor) -> str:
    """Return a "stored" line for each stored entry, then a "merged" line for each row.

    A row that is stored twice has two "stored" lines. Merged rows are in ascending order.
    """
    text = ""
    for what, each in (("stored", gradient), ("merged", gradient.coalesce())):
        rows, values = each._indices()[0].tolist(), each._values().tolist()  # noqa: SLF001
        text += "".join(line(what, *entry) for entry in zip(rows, values, strict=True))
    return text
