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
    # TODO: start and length of each box; then the middle of each of bins * samples equal parts
    raise NotImplementedError("points")


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
    # TODO: points along y and x, a grid for grid_sample, a mask, avg_pool2d
    raise NotImplementedError("roi_align")
