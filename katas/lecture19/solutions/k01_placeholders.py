"""Put the rows of images into a sentence of tokens."""

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
    """Return text, [batch, tokens, width], with an image row in place of each placeholder.

    `ids` is [batch, tokens], with at least one sentence; images[i] holds the rows of sentence i,
    [rows, width], in any floating dtype. The result has the dtype of text. Raise `mismatch` unless
    each sentence has as many rows as placeholders.
    """
    places = ids == placeholder
    wanted, given = places.sum(1).tolist(), [len(rows) for rows in images]
    if wanted != given:
        raise mismatch(wanted, given)
    return text.masked_scatter(places[..., None], torch.cat([*images]).to(text.dtype))
