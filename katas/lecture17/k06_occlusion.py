"""Occlusion: hide a window, and see what the model loses.

No gradient is needed, only many forwards. Slide a window over the image, put the baseline there,
and record by how much the logit drops. Each pixel gets the mean drop of the windows over it:

    width 5, window 2, stride 2      pixels    0 1 2 3 4
                                     window 0  # #
                                     window 1      # #
                                     window 2          #     overhangs: the part inside is hidden

One forward for each window is slow: most of a small call is overhead. Run them as batches.

1. `starts`: where windows begin in one dimension.
2. `occlusion`: the map, in as few calls of the model as `rows` permits. About 14 lines in all.

Begin on paper: how many windows does a width of 7 have, with window 3 and stride 2? And one of 8?
Afterwards see ``vmap`` in ``torch/_functorch/apis.py``, in site-packages, and its `chunk_size`.
Real life differs: the model has never seen an occluded image, and a drop may come from the grey
square itself.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


def starts(size: int, window: int, stride: int) -> range:
    """Return the starts of windows: from 0, a stride apart, until `size` is covered; no more."""
    # TODO: a range.
    raise NotImplementedError("starts")


def occlusion(
    f: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    target: int,
    *,
    window: tuple[int, int],
    stride: tuple[int, int],
    baseline: float = 0.0,
    rows: int = 32,
) -> torch.Tensor:
    """Return the map [height, width] of one image [channels, height, width], without a graph.

    `f` maps [rows, channels, height, width] to logits [rows, classes]. A window hides all channels.
    No stride is larger than its window. The image itself is a row too; no call has more than `rows`
    rows, and all but the last have as many.
    """
    # TODO: one mask for each window.
    raise NotImplementedError("occlusion")
