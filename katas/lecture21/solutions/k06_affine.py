"""Debug: six functions that sample in the wrong place."""

from __future__ import annotations

from math import cos
from math import radians
from math import sin

import torch
from torch.nn.functional import affine_grid
from torch.nn.functional import grid_sample


def sampled(image: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
    """Return the images, sampled where one matrix [2, 3] says; 0 outside (given, and correct)."""
    grid = affine_grid(theta.expand(len(image), 2, 3), [*image.shape], align_corners=False)
    return grid_sample(image, grid, align_corners=False)


def whole(image: torch.Tensor) -> torch.Tensor:
    """Return a new image: this one, sampled at its own pixels."""
    return sampled(image, torch.eye(2, 3, dtype=image.dtype))


def zoom(image: torch.Tensor, factor: float) -> torch.Tensor:
    """Return the middle of the image, `factor` times as large."""
    theta = torch.eye(2, 3, dtype=image.dtype) / factor
    return sampled(image, theta)


def shift(image: torch.Tensor, right: float, down: float) -> torch.Tensor:
    """Return the image, moved by pixels to the right and down."""
    h, w = image.shape[2:]
    theta = torch.tensor([[1, 0, -2 * right / w], [0, 1, -2 * down / h]], dtype=image.dtype)
    return sampled(image, theta)


def turn(image: torch.Tensor, degrees: float) -> torch.Tensor:
    """Return the image, rotated around its middle, counterclockwise as by ``torch.rot90``."""
    c, s = cos(radians(degrees)), sin(radians(degrees))
    h, w = image.shape[2:]
    theta = torch.tensor([[c, -s * h / w, 0], [s * w / h, c, 0]], dtype=image.dtype)
    return sampled(image, theta)


def both(image: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return the image transformed by `first`, then by `second` (both [2, 3]); sample only once."""
    last = first.new_tensor([[0, 0, 1]])
    theta = torch.cat([first, last]) @ torch.cat([second, last])
    return sampled(image, theta[:2])


def pixels(image: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
    """Return [batch, channels, n], the values at `points` [n, 2]: row and column indices."""
    at = (2 * points + 1) / torch.tensor(image.shape[2:]) - 1
    grid = at.flip(1).to(image.dtype).expand(len(image), 1, -1, 2)
    return grid_sample(image, grid, align_corners=False).squeeze(2)
