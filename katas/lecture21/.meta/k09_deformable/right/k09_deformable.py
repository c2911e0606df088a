"""Bend the window of a convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Sequence


def windows(
    size: Sequence[int], kernel: Sequence[int], stride: int = 1, padding: int = 0
) -> torch.Tensor:
    """Return the pixels that a convolution reads: int64 of [2, taps, out_height, out_width].

    Index 0 of dim 0 holds the rows, index 1 the columns; the first row of a padding of 1 is -1. A
    kernel of (height, width) has height * width taps, row by row.
    """
    axes = []
    for n, taps in zip(size, kernel, strict=True):
        starts = torch.arange(-padding, n + padding - taps + 1, stride)
        axes += [torch.arange(taps), starts]
    first, y, second, x = torch.meshgrid(*axes, indexing="ij")
    both = torch.stack([first + y, second + x]).transpose(2, 3)
    return both.reshape(2, -1, *both.shape[3:])


def normalized(points: torch.Tensor, size: Sequence[int]) -> torch.Tensor:
    """Return points [..., 2], given as (y, x) in pixels, in the coordinates of `grid_sample`.

    The coordinates are those of align_corners=False. `size` is (height, width).
    """
    return (2 * points.flip(-1) + 1) / points.new_tensor([size[1], size[0]]) - 1


def sampled(
    x: torch.Tensor, offset: torch.Tensor, kernel: Sequence[int], stride: int, padding: int
) -> torch.Tensor:
    """Return what the taps read: [batch, channels, taps, out_height, out_width].

    `offset` is [batch, groups * taps * 2, out_height, out_width]: dim 1 is ordered by group, then
    by tap, then y, x. The first of `groups` groups of offsets moves the taps in the first channels
    / groups channels, and so on. Tensors may have any memory layout.
    """
    n, channels = x.shape[:2]
    places = windows(x.shape[2:], kernel, stride, padding)
    _, taps, height, width = places.shape
    groups = offset.shape[1] // (2 * taps)
    points = offset.reshape(n, groups, taps, 2, height, width).permute(0, 1, 2, 4, 5, 3)
    grid = normalized(points + places.permute(1, 2, 3, 0), x.shape[2:])
    each = grid.repeat_interleave(channels // groups, 1).reshape(n * channels, -1, 1, 2)
    images = x.reshape(n * channels, 1, *x.shape[2:])
    values = torch.nn.functional.grid_sample(images, each, align_corners=False)
    return values.reshape(n, channels, taps, height, width)


def deform_conv2d(
    x: torch.Tensor,
    offset: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    mask: torch.Tensor | None = None,
    *,
    stride: int = 1,
    padding: int = 0,
) -> torch.Tensor:
    """Return the convolution of x with `weight`, taps moved by `offset` and multiplied by `mask`.

    `weight` is as for `conv2d`; `mask` is [batch, groups * taps, out_height, out_width].
    """
    values = sampled(x, offset, weight.shape[2:], stride, padding)
    if mask is not None:
        masks = mask.unflatten(1, (-1, values.shape[2]))
        values = values * masks.repeat_interleave(x.shape[1] // masks.shape[1], 1)
    y = torch.einsum("nckij,ock->noij", values, weight.flatten(2))
    return y if bias is None else y + bias[:, None, None]


class DeformConv2d(nn.Module):
    """A deformable convolution whose offsets and mask come from an ordinary one, `ask`."""

    def __init__(self, channels: int, out: int, kernel: tuple[int, int], padding: int = 0) -> None:
        """Create both convolutions (given); then make the first call equal `conv2d`."""
        super().__init__()
        self.padding = padding
        self.conv = nn.Conv2d(channels, out, kernel, padding=padding)
        self.ask = nn.Conv2d(channels, 3 * kernel[0] * kernel[1], kernel, padding=padding)
        for parameter in self.ask.parameters():
            nn.init.zeros_(parameter)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the deformable convolution of x with conv's weight and bias.

        At each position, the first two thirds of what `ask` returns are offsets; each m of the last
        third gives a mask value, 2 * sigmoid(m).
        """
        asked = self.ask(x)
        third = asked.shape[1] // 3
        offset, mask = asked.split([2 * third, third], 1)
        weight, bias = self.conv.weight, self.conv.bias
        return deform_conv2d(x, offset, weight, bias, 2 * mask.sigmoid(), padding=self.padding)
