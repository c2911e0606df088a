"""Run all iterations at once.

The body of a kernel is a function of the loops' variables. Hand it numbers, and it computes one
element. Hand it *tensors*, and it computes all of them: let each variable hold every value that its
loop takes, along a dim of its own, and broadcasting does the rest.

    loops (3, 4)     i0 = [[0], [1], [2]]    i1 = [[0, 1, 2, 3]]
                     4*i0 + i1 is a (3, 4) tensor of indices

Write `Evaluate` and `evaluate`, about 12 lines; the loops are given in ``loops.py`` next to this
file.

- Each call in the body is one call of a function in `OPERATIONS`.
- A result that does not depend on every loop is smaller than the loops, so its sum would be wrong.

Begin with ``handling(Evaluate(memory))`` around one `Pointwise`.
Afterwards read ``torch/_inductor/virtualized.py``: what is ``V.ops`` while Inductor generates code?
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch

from katas.lecture10.loops import OPERATIONS
from katas.lecture10.loops import REDUCTIONS
from katas.lecture10.loops import Handler
from katas.lecture10.loops import Reduction
from katas.lecture10.loops import handling


if TYPE_CHECKING:
    from collections.abc import Mapping

    from katas.lecture10.loops import Pointwise


class Evaluate(Handler):
    """A value is a tensor of all iterations, with size 1 along each loop it does not depend on."""

    def __init__(self, memory: Mapping[str, torch.Tensor]) -> None:
        self.memory = memory

    def load(self, name: str, index: Any) -> torch.Tensor:
        """Return the elements of a flat tensor at `index`, an int or a tensor of indices."""
        # TODO: index once.
        raise NotImplementedError("load")

    def default(self, name: str, args: tuple[Any, ...]) -> torch.Tensor:
        """Return the result of the function in `OPERATIONS` for the arguments."""
        # TODO: make one call.
        raise NotImplementedError("default")


def evaluate(kernel: Pointwise | Reduction, memory: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Return a new contiguous tensor of size ``kernel.size``, computed by torch.

    `memory` holds the flat tensor of each buffer, and is not changed. The body runs once, under an
    `Evaluate` that is removed afterwards. A `Reduction` reduces its inner loops with the function
    from `REDUCTIONS`. No tensor is larger than the loops.
    """
    # TODO: make a tensor for each loop's variable; then run the body, expand, and reduce.
    raise NotImplementedError("evaluate")
