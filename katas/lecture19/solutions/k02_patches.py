"""Cut images into patches: a view, until you flatten them."""

from __future__ import annotations

import torch


def whole(images: torch.Tensor, patch: tuple[int, int]) -> tuple[int, int]:
    """Return how many rows and columns of patches there are; none may be cut. Given."""
    (height, width), (tall, wide) = patch, images.shape[2:]
    if tall % height or wide % width:
        raise ValueError(f"patches of {height} x {width} do not fill {tall} x {wide}")
    return tall // height, wide // width


def grid(images: torch.Tensor, patch: tuple[int, int]) -> torch.Tensor:
    """Return a view of images, [batch, channels, tall, wide], which may have any strides.

    The view is [batch, rows, columns, channels, height, width], for a patch of (height, width). The
    batch may be empty. Raise ValueError, through `whole`, if a patch would be cut.
    """
    (rows, columns), (height, width) = whole(images, patch), patch
    split = images.unflatten(3, (columns, width)).unflatten(2, (rows, height))
    return split.permute(0, 2, 4, 1, 3, 5)


def tokens(images: torch.Tensor, patch: tuple[int, int]) -> torch.Tensor:
    """Return the patches in reading order, [batch, rows * columns, channels * height * width].

    The patches are copied only where no view has this shape.
    """
    return grid(images, patch).flatten(3).flatten(1, 2)


def embed(images: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return the embedded patches, [batch, rows * columns, out].

    The weight is that of a ``Conv2d``, [out, channels, height, width]; the bias is [out].
    """
    patches = tokens(images, (weight.shape[2], weight.shape[3]))
    return patches @ weight.flatten(1).t() + bias


def paste(
    patches: torch.Tensor, channels: int, patch: tuple[int, int], columns: int
) -> torch.Tensor:
    """Return the images that these tokens were cut from, [batch, channels, tall, wide].

    The tokens are [batch, rows * columns, channels * height * width], with `columns` patches side
    by side.
    """
    split = patches.unflatten(2, (channels, *patch)).unflatten(1, (-1, columns))
    return split.permute(0, 3, 1, 4, 2, 5).flatten(4).flatten(2, 3)
