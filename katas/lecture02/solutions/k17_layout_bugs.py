"""Six bugs of layout, broadcasting and indexing: find and fix them."""

from __future__ import annotations

import torch
import torch.nn.functional as F


def scale_channels(images: torch.Tensor, gains: torch.Tensor) -> torch.Tensor:
    """Return the images with each channel multiplied by its gain; gains are (C,)."""
    # Shapes are aligned at the last dim, which is W.
    return images * gains[:, None, None]


def squared_error(predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean squared difference of predictions (N, 1) and targets (N,)."""
    # (N, 1) with (N,) broadcasts to (N, N): every prediction against every target.
    return ((predictions.squeeze(1) - targets) ** 2).mean()


def crop(images: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """Return the pixels at all pairs of one of R rows and one of K columns: (N, C, R, K).

    `rows` and `columns` are int64 vectors in any order.
    """
    # Index tensors are broadcast together: a column of row indices and a row of column indices make
    # a grid.
    return images[:, :, rows[:, None], columns]


def scores_of(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return each row's score for its label, (N,).

    `scores` is (N, classes), `labels` is int64 of shape (N,).
    """
    # take indexes the whole flat tensor, gather indexes along a dim.
    return scores.gather(1, labels[:, None]).squeeze(1)


def blank_(images: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Set the masked pixels to 0 in all channels, in place, and return the same tensor.

    `mask` is bool of shape (N, H, W).
    """
    pixels = images.permute(0, 2, 3, 1)
    # Reading through a mask makes a copy; only assigning through it writes.
    pixels[mask] = 0
    return images


def add_channels(images: torch.Tensor, count: int) -> torch.Tensor:
    """Return the images with `count` channels of zeros appended, in the same dtype.

    Keep channels-last images channels-last and row-major ones row-major, even if they are slices;
    `count` is 1 or more.
    """
    # cat keeps the format only if its inputs agree; pad has only one input.
    return F.pad(images, (0, 0, 0, 0, 0, count))
