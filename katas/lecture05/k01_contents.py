"""Look into the drawers of a Module.

You write ``self.weight = ...`` a hundred times. Where does it go?

    layer = torch.nn.Linear(2, 3)
    print("weight" in vars(layer), "in_features" in vars(layer))   # False True

A Module has one dict each for parameters, buffers and modules: its drawers. Anything in none of
them is plain Python: no optimizer sees it, and ``.double()`` and ``state_dict()`` skip it. Write
`contents`, about 6 lines, then run it on a model of your own.

Begin with ``layer.named_parameters()``: which modules' parameters does it return?
Afterwards read ``Module.__setattr__`` in ``torch/nn/modules/module.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from torch import nn


def contents(module: nn.Module) -> dict[str, str]:
    """Return the kind of each attribute of `module` itself, by name, in any order.

    "parameter", "buffer", "unsaved buffer" (not in the state dict), "module", or "plain": the names
    in ``vars(module)``, except ``training`` and those that begin with an underscore. Leave out an
    empty entry, such as the ``bias`` of ``Linear(2, 3, bias=False)``. An object with two names may
    be listed once, under the first.
    """
    # TODO: the plain ones, then the contents of the drawers.
    raise NotImplementedError("contents")
