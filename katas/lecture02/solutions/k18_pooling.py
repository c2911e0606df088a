"""A chain of poolings in channels-last: copy when you must, and only then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


def run(
    layers: Sequence[Callable[[torch.Tensor], torch.Tensor]], images: torch.Tensor
) -> torch.Tensor:
    """Return the images after one layer after the other; the result is row-major, without gaps.

    Each layer gets images in channels-last, without gaps, too. What is so already is not copied.
    """
    for layer in layers:
        # Free where the layer before has kept the format: contiguous returns its own tensor.
        images = layer(images.contiguous(memory_format=torch.channels_last))
    return images.contiguous()
