"""Scale two hundred small tensors with one call.

Calling an operator takes about as long for one element as for a thousand: parsing, dispatch and
autograd come before any number is touched. A model has hundreds of small parameters, and a step
that visits each of them pays this every time:

    for weight in weights:
        weight.mul_(0.9)                 # two hundred calls

Keep the numbers in one tensor, and make each weight a view of its part. Write `flatten`, about four
lines.

Begin on paper: which elements of the flat tensor belong to the second weight?
Afterwards open ``torch/distributed/fsdp/_flat_param.py`` (``FlatParameter``).
"""

from __future__ import annotations

import torch


def flatten(tensors: list[torch.Tensor]) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Return a new 1-d tensor with all elements, and a view of it for each of `tensors`.

    The views have the shapes and values of `tensors` (one dtype, any shape and layout, none
    requires grad). They follow each other in the flat tensor in the same order, without gaps.
    """
    # TODO: about four lines.
    raise NotImplementedError("flatten")


def decay(flat: torch.Tensor, rate: float) -> None:
    """Multiply all weights by 1 - rate, in one call. Given."""
    flat.mul_(1 - rate)
