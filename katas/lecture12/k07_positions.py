"""Debug: a resumed run with the wrong momenta.

An optimizer's state dict identifies parameters by position. Somebody reorders the layers of a
model; the old checkpoint still loads without an error:

    saved by [a, b]         0: momentum of a     1: momentum of b
    loaded into [b, a]      b gets 0             a gets 1

An optimizer built from ``named_parameters()`` saves the names too, and still loads by position.

Fix `resume`, in under 10 lines.

Begin with ``print(optimizer.state_dict())``: which two lists say which parameter has position 0?
Afterwards read ``load_state_dict`` in ``torch/optim/optimizer.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from torch.optim import Optimizer


def resume(optimizer: Optimizer, saved: dict[str, Any]) -> None:
    """Load the state dict `saved` so that each parameter gets the state saved under its name.

    Both optimizers have named parameters, in any order and group. The options of a group, such as
    ``lr``, go to the group at the same index; the optimizer keeps its names and order. Raise
    ``KeyError`` for a name that `saved` lacks, before loading anything. A name without state is not
    an error. Nor is a name that has been removed: drop its state.
    """
    # TODO: nothing raises NotImplementedError here. This code works, but by position.
    optimizer.load_state_dict(saved)
