"""One bit for each element.

On a slow network, send less: only the sign of each element, and one magnitude for
all. Eight float32 shrink from 32 bytes to 1, plus 4:

    0.5  -3  0  4  -2 ...   ->  one byte of bits  +  the mean of the magnitudes

Write `encode` and `decode`, about 8 lines.

Begin with a byte: ``bits << [0, 1, ..., 7]`` and a sum pack eight bits; how do you unpack them?
Afterwards read ``quantization_pertensor_hook`` in
``torch/distributed/algorithms/ddp_comm_hooks/quantization_hooks.py``, in site-packages.
"""

from __future__ import annotations

import torch


def encode(flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the bits, eight to a byte, and the mean of the magnitudes, of shape (1,).

    The bits are uint8; part of the last byte may be unused. 0 counts as positive.
    """
    # TODO: is an element negative? Eight answers make a byte.
    raise NotImplementedError("encode")


def decode(message: tuple[torch.Tensor, torch.Tensor], size: int) -> torch.Tensor:
    """Return a tensor of `size` elements: plus or minus the magnitude, in its dtype."""
    # TODO: take the bytes apart again.
    raise NotImplementedError("decode")
