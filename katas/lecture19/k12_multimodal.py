"""A model that answers questions about an image.

A pretrained image encoder, a small word table, and cross-attention between them: many
vision-language models start out like this. You assemble one from PyTorch's parts.

    tokens    [3 5 0] [6 1]      images   [rows, channels, height, width]
       |  table                     |  patches
    words     [rows, j1, dims]   memory   [rows, places, dims]     encoder: frozen, with LoRA
       |                            |
       +---- words ask memory ------+
       |
    the last word of each sentence  ->  head  ->  logits

1. `patches`: cut images.
2. `sentences`: ragged text, as a jagged tensor.
3. `look`: one scaled_dot_product_attention over jagged tensors.
4. `LowRank`, `adapt`: the encoder learns only through b @ a.
5. `Model.forward`, `fit`.

About 40 lines in all. Begin on paper: sentences are ragged and images are not, but attention takes
jagged queries only with jagged keys. What are the offsets of 3 images with 4 patches each?
Afterwards read ``jagged_scaled_dot_product_attention`` in ``torch/nested/_internal/sdpa.py``, in
site-packages. Real life differs: on a GPU jagged attention can be one fused kernel; on the CPU it
is split up. It accepts no mask on either. Real encoders are trained on millions of images.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Sequence

    Batch = tuple[Sequence[torch.Tensor], torch.Tensor, torch.Tensor]


def patches(images: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Return [rows, places, channels * height * width]: patches row by row, no overlap."""
    # TODO: torch.nn.functional.unfold.
    raise NotImplementedError("patches")


def sentences(table: nn.Embedding, tokens: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return the embedded words, a jagged tensor [rows, j, dims], with one look-up for all words.

    A sentence is int64 [length], with at least one word.
    """
    # TODO: one look-up for all words.
    raise NotImplementedError("sentences")


def look(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, heads: int
) -> torch.Tensor:
    """Return what each word of the jagged `queries` finds in its own row of keys and values.

    Both are dense, [rows, places, dims]; the result is jagged, with the symbolic size of
    `queries`. Each of `heads` has dims // heads adjacent columns.
    """
    # TODO: make keys and values jagged; split, attend, and join.
    raise NotImplementedError("look")


class LowRank(nn.Module):
    """Adds b @ a to a weight: parameters `a` [rank, columns] and `b` [rows, rank].

    At first it adds nothing, yet it can learn. The dtype is the weight's.
    """

    def __init__(self, weight: torch.Tensor, rank: int) -> None:
        super().__init__()
        # TODO: if both began with 0, which of them would get a gradient?
        raise NotImplementedError("LowRank")

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """Return the weight plus what was learned."""
        # TODO: weight is the frozen one.
        raise NotImplementedError("LowRank.forward")


def adapt(encoder: nn.Module, rank: int) -> None:
    """Freeze the encoder, and parametrize the weight of each nn.Linear in it with a `LowRank`."""
    # TODO: torch.nn.utils.parametrize.
    raise NotImplementedError("adapt")


class Model(nn.Module):
    """Cross-attention from words to an image. The layers are given."""

    def __init__(self, encoder: nn.Module, places: int, dims: int, vocabulary: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.table = nn.Embedding(vocabulary, dims)
        # Added to the patches, which do not know their positions.
        self.places = nn.Parameter(torch.randn(places, dims))
        self.ask, self.key, self.value = (nn.Linear(dims, dims) for _ in range(3))
        self.out, self.head = nn.Linear(dims, dims), nn.Linear(dims, 2)

    def forward(self, tokens: Sequence[torch.Tensor], images: torch.Tensor) -> torch.Tensor:
        """Return logits [rows, 2], from the last word of each sentence.

        Memory is the encoded patches of 2 x 3 plus `places`. Words `ask` it with 2 heads by `key`
        and `value`; what they find goes through `out`, and is added to the words.
        """
        # TODO: k07 knows where the last words are.
        raise NotImplementedError("Model.forward")


def fit(model: Model, batches: Sequence[Batch], rate: float) -> list[float]:
    """Return the cross entropy of each batch (tokens, images, labels), taking a step after each.

    The optimizer is AdamW.
    """
    # TODO: the loss is computed before the step.
    raise NotImplementedError("fit")
