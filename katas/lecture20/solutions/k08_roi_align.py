"""RoIAlign from two PyTorch operators, and a border that neither of them has.

A detector cuts a patch of fixed size out of a feature map for each box. A box ends between pixels,
so RoIAlign reads between them: it divides the box into bins, samples each bin at a few points, and
takes the mean.

                          x1        x2       width 2 bins, 2 points each:
    pixel  | 0 | 1 | 2 | 3 | 4 |              start, start + 1 point, ...
               [ .   . | .   . ]              points in the middle of their quarter

Sampling between pixels is `grid_sample`, the mean of neighbours is `avg_pool2d`. Write two
functions, about 18 lines:

1. `points`: the coordinates along one side, in pixels of the map: pixel i is at i.
2. `roi_align`: sample, mask, take the mean. Use no loop.

At the border RoIAlign and `grid_sample` differ. A point up to one pixel outside reads the edge of
the map, as with padding_mode="border"; a point further out, below -1 or above the number of pixels,
counts as 0.

Begin on paper: to which g in [-1, 1] does `grid_sample` with align_corners=False map pixel i of n?
Afterwards read ``grid_sampler_unnormalize`` in ``aten/src/ATen/native/GridSamplerUtils.h``: it
computes the inverse.
"""

from __future__ import annotations

import torch
from torch.nn.functional import avg_pool2d
from torch.nn.functional import grid_sample


def points(
    first: torch.Tensor, last: torch.Tensor, bins: int, samples: int, *, aligned: bool
) -> torch.Tensor:
    """Return the sampled coordinates, [boxes, bins * samples], in pixels of the map.

    `first` and `last` are where each box begins and ends, already scaled. If `aligned`, shift both
    by -0.5, since pixel i covers i to i + 1 and is read at its center. Otherwise do not shift them,
    and a box shorter than one pixel is made one pixel long, starting at `first`. If aligned, a box
    may have any length, even a negative one: nothing is clamped.
    """
    start, length = first, last - first
    if aligned:
        start = start - 0.5
    else:
        length = length.clamp(min=1)
    count = bins * samples
    parts = (torch.arange(count, dtype=first.dtype) + 0.5) / count
    return start[:, None] + length[:, None] * parts


def roi_align(
    maps: torch.Tensor,
    rois: torch.Tensor,
    size: tuple[int, int],
    scale: float,
    samples: int,
    *,
    aligned: bool,
) -> torch.Tensor:
    """Return a patch for each box, [boxes, channels, *size].

    `maps` is [images, channels, height, width], of finite numbers; a row of `rois` is (index of
    the image, x1, y1, x2, y2), in pixels of the image, which `scale` converts to pixels of the map.
    `size` is (height, width) in bins, each with samples * samples points. There may be no boxes.
    """
    images, boxes = rois[:, 0].long(), rois[:, 1:] * scale
    x = points(boxes[:, 0], boxes[:, 2], size[1], samples, aligned=aligned)[:, None, :]
    y = points(boxes[:, 1], boxes[:, 3], size[0], samples, aligned=aligned)[:, :, None]
    high, wide = maps.shape[-2:]
    inside = (x >= -1) & (x <= wide) & (y >= -1) & (y <= high)
    places = torch.broadcast_tensors((2 * x + 1) / wide - 1, (2 * y + 1) / high - 1)
    grid = torch.stack(places, -1)
    read = grid_sample(maps[images], grid, padding_mode="border", align_corners=False)
    return avg_pool2d(read * inside[:, None], samples)
