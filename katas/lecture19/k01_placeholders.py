"""Put the rows of images into a sentence of tokens.

A decoder for text and images reads one sequence. The tokenizer leaves a placeholder for each row
that the image encoder will return, and the rows replace the placeholders before the first layer:

    placeholder = 9,  rows of the image: [r0, r1, r2]

    ids       5    9    9    7    9
    text      t0   t1   t2   t3   t4
    merged    t0   r0   r1   t3   r2

Write `merge`, about 5 lines.

Begin with one row too many:

    x, mask = torch.zeros(4), torch.tensor([True, False, False, True])
    x.masked_scatter(mask, torch.tensor([1.0, 2.0, 3.0]))

Afterwards read ``masked_scatter_`` in ``torch/_tensor_docs.py``, in site-packages.
"""

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
    # TODO: masked_scatter, and the count that it does not check.
    raise NotImplementedError("merge")
