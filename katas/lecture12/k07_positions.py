"""Debug: the resumed run with the wrong momenta.

An optimizer's state dict knows parameters by their position. Somebody sorts the layers of a model,
the old checkpoint loads, and there is no error:

    saved by [a, b]         0: momentum of a     1: momentum of b
    loaded into [b, a]      b gets 0             a gets 1

An optimizer made of ``named_parameters()`` saves the names too, and still loads by position.

Mend `resume`, under 10 lines.

Begin with ``print(optimizer.state_dict())``: which two lists say what stands at 0?
Afterwards read ``load_state_dict`` in ``torch/optim/optimizer.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from torch.optim import Optimizer


def resume(optimizer: Optimizer, saved: dict[str, Any]) -> None:
    """Load `saved`, a state dict, so that each parameter has the state that its name had.

    Both optimizers have named parameters, in any order and group. The options of a group, such as
    ``lr``, go to the group at the same place; the optimizer keeps its names and order. A name in no
    group of `saved` is a ``KeyError``, before anything is loaded. No error: a name without state,
    and one that is gone, whose state is left out.
    """
    # TODO: nothing here raises NotImplementedError. The code is written, and it goes by position.
    optimizer.load_state_dict(saved)
