"""Debug: six functions that sample in the wrong place.

A matrix for ``affine_grid`` says where each output pixel takes its value from: it maps output
positions to input positions, (x, y), in units in which the image reaches from -1 to 1. Everybody
writes it the wrong way round once, and then the tickets come:

    whole     "I asked for the identity, and got a blurred picture."
    zoom      "zoom(image, 2) shows it at half the size."
    shift     "shift(image, 2, 0) moves it to the left, and by one pixel only."
    turn      "Squares turn. A wide picture turned by 90 degrees is squeezed."
    both      "A shift and then a turn: I get the turn, and then the shift."
    pixels    "At row 0, column 3 it returns what is at row 3, column 0."

Fix each, in one to three lines.

Begin with ``zoom``: where does the output's right edge, x = 1, have to look?
Afterwards see ``affine_grid`` and ``grid_sample`` in ``torch/nn/functional.py``, in site-packages.
"""

from __future__ import annotations

from math import cos
from math import radians
from math import sin

import torch
from torch.nn.functional import affine_grid
from torch.nn.functional import grid_sample


# TODO: find and fix what is wrong in each. Nothing raises NotImplementedError here: the code is
# written, and samples in the wrong place. Images are [batch, channels, h, w]; results have the same
# shape.


def sampled(image: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
    """Return the images, sampled where one matrix [2, 3] says; 0 outside (given, and correct)."""
    grid = affine_grid(theta.expand(len(image), 2, 3), [*image.shape], align_corners=False)
    return grid_sample(image, grid, align_corners=False)


def whole(image: torch.Tensor) -> torch.Tensor:
    """Return a new image: this one, sampled at its own pixels."""
    theta = torch.eye(2, 3, dtype=image.dtype)
    grid = affine_grid(theta.expand(len(image), 2, 3), [*image.shape], align_corners=True)
    return grid_sample(image, grid, align_corners=False)


def zoom(image: torch.Tensor, factor: float) -> torch.Tensor:
    """Return the middle of the image, `factor` times as large."""
    theta = torch.eye(2, 3, dtype=image.dtype) * factor
    return sampled(image, theta)


def shift(image: torch.Tensor, right: float, down: float) -> torch.Tensor:
    """Return the image, moved by pixels to the right and down."""
    h, w = image.shape[2:]
    theta = torch.tensor([[1, 0, right / w], [0, 1, down / h]], dtype=image.dtype)
    return sampled(image, theta)


def turn(image: torch.Tensor, degrees: float) -> torch.Tensor:
    """Return the image, rotated around its middle, counterclockwise as by ``torch.rot90``."""
    c, s = cos(radians(degrees)), sin(radians(degrees))
    theta = torch.tensor([[c, -s, 0], [s, c, 0]], dtype=image.dtype)
    return sampled(image, theta)


def both(image: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return the image transformed by `first`, then by `second` (both [2, 3]); sample only once."""
    last = first.new_tensor([[0, 0, 1]])
    theta = torch.cat([second, last]) @ torch.cat([first, last])
    return sampled(image, theta[:2])


def pixels(image: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
    """Return [batch, channels, n], the values at `points` [n, 2]: row and column indices."""
    at = (2 * points + 1) / torch.tensor(image.shape[2:]) - 1
    grid = at.to(image.dtype).expand(len(image), 1, -1, 2)
    return grid_sample(image, grid, align_corners=False).squeeze(2)
