"""Cut images into patches, by windows that do not overlap, and paste them line by line."""

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
    (height, width), _ = patch, whole(images, patch)
    windows = images.unfold(2, height, height).unfold(3, width, width)
    return windows.permute(0, 2, 3, 1, 4, 5)


def tokens(images: torch.Tensor, patch: tuple[int, int]) -> torch.Tensor:
    """Return the patches in reading order, [batch, rows * columns, channels * height * width].

    The patches are copied only where no view has this shape.
    """
    return grid(images, patch).flatten(3).flatten(1, 2)


def embed(images: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return the embedded patches, [batch, rows * columns, out].

    The weight is that of a ``Conv2d``, [out, channels, height, width]; the bias is [out].
    """
    patches = grid(images, (weight.shape[2], weight.shape[3]))
    return torch.einsum("brkchw,ochw->brko", patches, weight).flatten(1, 2) + bias


def paste(
    patches: torch.Tensor, channels: int, patch: tuple[int, int], columns: int
) -> torch.Tensor:
    """Return the images that these tokens were cut from, [batch, channels, tall, wide].

    The tokens are [batch, rows * columns, channels * height * width], with `columns` patches side
    by side.
    """
    height, width = patch
    rows = patches.shape[1] // columns
    images = patches.new_empty(len(patches), channels, rows * height, columns * width)
    split = patches.unflatten(2, (channels, height, width)).unflatten(1, (rows, columns))
    grid(images, patch).copy_(split)
    return images
