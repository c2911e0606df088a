"""Put the rows of images into a sentence of tokens, by index and sentence by sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence


def mismatch(wanted: list[int], given: list[int]) -> ValueError:
    """Return the error for sentences that get too many or too few rows. Given."""
    return ValueError(f"placeholders by sentence: {wanted}, image rows: {given}")


def merge(
    text: torch.Tensor, ids: torch.Tensor, images: Sequence[torch.Tensor], placeholder: int
) -> torch.Tensor:
    """Return text, [batch, tokens, width], with an image row in place of each placeholder."""
    places = [(row == placeholder).nonzero().flatten() for row in ids]
    wanted, given = [len(place) for place in places], [len(rows) for rows in images]
    if wanted != given:
        raise mismatch(wanted, given)
    return torch.stack(
        [
            sentence.index_copy(0, place, rows.to(text.dtype))
            for sentence, place, rows in zip(text, places, images, strict=True)
        ]
    )
