"""Look into the drawers of a Module.

You write ``self.weight = ...`` a hundred times. Where does it go?

    layer = torch.nn.Linear(2, 3)
    print("weight" in vars(layer), "in_features" in vars(layer))   # False True

A Module has drawers for parameters, for buffers and for modules. What lies in none of them is plain
Python: no optimizer sees it, ``.double()`` and ``state_dict()`` pass it by. Write `contents`, about
6 lines, then run it on a model of yours.

Begin with ``layer.named_parameters()``: for which modules does it answer?
Afterwards read ``Module.__setattr__`` in ``torch/nn/modules/module.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from torch import nn


def contents(module: nn.Module) -> dict[str, str]:
    """Return what hangs on `module` itself, by name, in any order.

    "parameter", "buffer", "unsaved buffer" (not in the state dict), "module", or "plain": the
    names in ``vars(module)``, but for ``training`` and those that begin with an underscore. An
    empty place, such as the ``bias`` of ``Linear(2, 3, bias=False)``, is left out. Of two
    names for one object, the first is enough.
    """
    # TODO: the plain ones, then what the drawers hold.
    raise NotImplementedError("contents")
