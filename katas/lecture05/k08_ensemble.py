"""Call thirty models at once.

Thirty small models, one input, thirty forwards. They share code and differ only in numbers. So
stack the numbers, write the forward for one model, and let ``vmap`` carry the new dim:

    vmap(dot, in_dims=(0, None))(weights, x)       # dot(w, x) for each w in weights, in one call

Write `outputs`, about 5 lines, with ``stack_module_state``, ``functional_call`` and ``vmap``. How
vmap works is a lecture of its own.

Begin by printing ``stack_module_state([Linear(2, 3), Linear(2, 3)])``.
Afterwards read ``stack_module_state`` in ``torch/_functorch/functional_call.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.func import functional_call
from torch.func import stack_module_state
from torch.func import vmap


if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch
    from torch import nn


def outputs(models: Sequence[nn.Module], x: torch.Tensor) -> torch.Tensor:
    """Return the result of each model for `x`, stacked along a new first dim.

    The models share an architecture and ``training``; do not change them. Apart from stacking,
    thirty models take no more operators than three.
    """
    # TODO: a function of the parameters and buffers of one model.
    raise NotImplementedError("outputs")
