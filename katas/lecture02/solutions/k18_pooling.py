"""Run a chain of poolings in channels-last, and copy only when you must."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


def run(
    layers: Sequence[Callable[[torch.Tensor], torch.Tensor]], images: torch.Tensor
) -> torch.Tensor:
    """Apply one layer after another; return the result in row-major order, without gaps.

    Each layer gets images in channels-last, also without gaps. Copy nothing that is already in the
    right format.
    """
    for layer in layers:
        # Free if the layer before kept the format: contiguous then returns the same tensor.
        images = layer(images.contiguous(memory_format=torch.channels_last))
    return images.contiguous()
