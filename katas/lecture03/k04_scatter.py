"""Write to one place twice, and let the last write win on any machine.

The gradient of reading is a scatter. On a GPU thousands of threads scatter at a time, so which of
two writes to one place comes last is luck. Ask PyTorch which operators admit it:

    torch.use_deterministic_algorithms(True)
    torch.zeros(3).scatter_add_(0, torch.tensor([0, 0]), torch.ones(2))    # fine
    torch.zeros(3).put_(torch.tensor([0, 0]), torch.ones(2))               # RuntimeError

Write `last_wins`, two to four lines. A maximum does not care who comes first.

Begin on paper: for index [0, 2, 0], which position in it wins place 0?
Afterwards search ``torch/__init__.py`` in site-packages for ``use_deterministic_algorithms``.
"""

from __future__ import annotations

import torch  # noqa: TC002 - your answer calls it


def last_wins(target: torch.Tensor, index: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Return a copy of `target` after ``target[index[i]] = values[i]`` for i = 0, 1, ...

    All have one dim, `index` as many entries as `values`, at least one. The result is
    differentiable by `target` and `values`: a write that was overwritten moves nothing. No loop:
    there may be a million entries.
    """
    # TODO: first find the last position in `index` that writes to each place.
    raise NotImplementedError("last_wins")
