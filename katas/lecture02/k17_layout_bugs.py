"""Six bugs of layout, broadcasting and indexing: find and mend them.

Nothing here raises an error, NotImplementedError least of all: the shapes fit, and the result
is wrong, or right and slow. Images are (N, C, H, W).

1. ``scale_channels(images, gains)``: every channel of the images multiplied by its gain; `gains`
   has shape (C,).
2. ``squared_error(predictions, targets)``: the mean squared difference of predictions of shape
   (N, 1), as a linear layer with one output gives them, and targets of shape (N,).
3. ``crop(images, rows, columns)``: every channel of every image, at every pair of one of the `rows`
   and one of the `columns` (int64 tensors, R and K of them, in any order): shape (N, C, R, K).
4. ``scores_of(scores, labels)``: from scores of shape (N, classes), the score of each row's label;
   `labels` (N,) int64, the result (N,).
5. ``blank_(images, mask)``: set to 0, in place, all channels of the pixels where `mask`, bool of
   shape (N, H, W), is true. Returns the images themselves.
6. ``add_channels(images, count)``: the images with `count` more channels, at least one, all 0,
   behind the others, of their dtype. Channels-last images stay channels-last, row-major ones
   row-major.

One or two lines mend each. In PyTorch: ``aten/src/ATen/ExpandUtils.cpp`` (``infer_size_impl``),
``aten/src/ATen/native/TensorAdvancedIndexing.cpp`` (``index_put_``, which ``x[i] = y`` calls),
``aten/src/ATen/native/TensorShape.cpp`` (``cat_compute_output_memory_format``).
"""

from __future__ import annotations

import torch


# TODO: six bugs stand below, one in each function.
def scale_channels(images: torch.Tensor, gains: torch.Tensor) -> torch.Tensor:
    """Return the images with each channel multiplied by its gain."""
    return images * gains


def squared_error(predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean squared difference of predictions (N, 1) and targets (N,)."""
    return ((predictions - targets) ** 2).mean()


def crop(images: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """Return the images at every pair of one of the rows and one of the columns."""
    return images[:, :, rows, columns]


def scores_of(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the score of each row's label."""
    return scores.take(labels)


def blank_(images: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Set the masked pixels to 0 in all channels, in place, and return the images."""
    pixels = images.permute(0, 2, 3, 1)
    pixels[mask].zero_()
    return images


def add_channels(images: torch.Tensor, count: int) -> torch.Tensor:
    """Return the images with `count` channels of zeros more, in the format they have."""
    n, _, h, w = images.shape
    zeros = torch.zeros(n, count, h, w, dtype=images.dtype, device=images.device)
    return torch.cat([images, zeros], dim=1)
