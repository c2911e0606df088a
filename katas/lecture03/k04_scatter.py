"""Write to one element twice, and let the last write win on any machine.

The gradient of reading is a scatter. On a GPU thousands of threads scatter at once, so it is luck
which of two writes to one element comes last. PyTorch knows which operators are affected:

    torch.use_deterministic_algorithms(True)
    torch.zeros(3).scatter_add_(0, torch.tensor([0, 0]), torch.ones(2))    # fine
    torch.zeros(3).put_(torch.tensor([0, 0]), torch.ones(2))               # RuntimeError

Write `last_wins`, two to four lines. A maximum does not depend on the order.

Begin on paper: for index [0, 2, 0], which position wins element 0?
Afterwards search ``torch/__init__.py`` in site-packages for ``use_deterministic_algorithms``.
"""

from __future__ import annotations

import torch


def last_wins(target: torch.Tensor, index: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Return a copy of `target` after ``target[index[i]] = values[i]`` for i = 0, 1, ...

    All three have one dim; `index` and `values` have the same length, at least 1. The result is
    differentiable with respect to `target` and `values`; an overwritten value gets gradient 0. Use
    no loop: there may be a million entries.
    """
    # TODO: first find the last position in `index` that writes to each element.
    raise NotImplementedError("last_wins")
