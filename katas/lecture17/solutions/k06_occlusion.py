"""Occlusion: hide a window, and see what the model loses."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


def starts(size: int, window: int, stride: int) -> range:
    """Return the starts of windows: from 0, a stride apart, until `size` is covered; no more."""
    return range(0, max(size - window, 0) + stride, stride)


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
    places = [starts(*each) for each in zip(x.shape[1:], window, stride, strict=True)]
    corners = list(product(*places))
    masks = torch.zeros(len(corners), *x.shape[1:], dtype=torch.bool)
    for mask, (top, left) in zip(masks, corners, strict=True):
        mask[top : top + window[0], left : left + window[1]] = True
    images = torch.cat([x[None], x.masked_fill(masks[:, None], baseline)])
    with torch.no_grad():
        logits = torch.cat([f(part)[:, target] for part in images.split(rows)])
    drops = logits[0] - logits[1:]
    return (drops[:, None, None] * masks).sum(0) / masks.sum(0)
