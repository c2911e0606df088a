"""Six bugs of layout, broadcasting and indexing: find and fix them.

    gains = torch.tensor([1.0, 2.0, 3.0])       # one for each channel
    torch.ones(1, 3, 3, 3) * gains              # silently scales the columns

All six functions run (nothing raises NotImplementedError), the shapes fit, but the result is wrong,
or right but slow. Square images, one-column predictions and in-place writes through a mask cause
such bugs. Images are (N, C, H, W). One or two lines fix each function; its docstring says what it
should do.

Begin with `squared_error`: print the shape of the difference. Then write the shapes one above
the other, right-aligned, before you trust a line.
Afterwards read ``infer_size_impl`` in PyTorch's ``aten/src/ATen/ExpandUtils.cpp``.
"""

from __future__ import annotations

import torch


# TODO: there are six bugs below, one in each function.
def scale_channels(images: torch.Tensor, gains: torch.Tensor) -> torch.Tensor:
    """Return the images with each channel multiplied by its gain; gains are (C,)."""
    return images * gains


def squared_error(predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean squared difference of predictions (N, 1) and targets (N,)."""
    return ((predictions - targets) ** 2).mean()


def crop(images: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """Return the pixels at all pairs of one of R rows and one of K columns: (N, C, R, K).

    `rows` and `columns` are int64 vectors in any order.
    """
    return images[:, :, rows, columns]


def scores_of(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return each row's score for its label, (N,).

    `scores` is (N, classes), `labels` is int64 of shape (N,).
    """
    return scores.take(labels)


def blank_(images: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Set the masked pixels to 0 in all channels, in place, and return the same tensor.

    `mask` is bool of shape (N, H, W).
    """
    pixels = images.permute(0, 2, 3, 1)
    pixels[mask].zero_()
    return images


def add_channels(images: torch.Tensor, count: int) -> torch.Tensor:
    """Return the images with `count` channels of zeros appended, in the same dtype.

    Keep channels-last images channels-last and row-major ones row-major, even if they are slices;
    `count` is 1 or more.
    """
    n, _, h, w = images.shape
    zeros = torch.zeros(n, count, h, w, dtype=images.dtype, device=images.device)
    return torch.cat([images, zeros], dim=1)
