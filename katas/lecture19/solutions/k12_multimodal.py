"""A model that answers questions about an image."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nested import nested_tensor_from_jagged
from torch.nn.utils.parametrize import register_parametrization


if TYPE_CHECKING:
    from collections.abc import Sequence

    Batch = tuple[Sequence[torch.Tensor], torch.Tensor, torch.Tensor]


def patches(images: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Return [rows, places, channels * height * width]: patches row by row, no overlap."""
    return nn.functional.unfold(images, (height, width), stride=(height, width)).mT


def sentences(table: nn.Embedding, tokens: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return the embedded words, a jagged tensor [rows, j, dims], with one look-up for all words.

    A sentence is int64 [length], with at least one word.
    """
    offsets = torch.tensor([0, *(len(each) for each in tokens)]).cumsum(0)
    return nested_tensor_from_jagged(table(torch.cat([*tokens])), offsets)


def look(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, heads: int
) -> torch.Tensor:
    """Return what each word of the jagged `queries` finds in its own row of keys and values.

    Both are dense, [rows, places, dims]; the result is jagged, with the symbolic size of
    `queries`. Each of `heads` has dims // heads adjacent columns.
    """
    rows, places, _ = keys.shape
    offsets = torch.arange(rows + 1) * places
    q, k, v = (
        each.unflatten(-1, (heads, -1)).transpose(1, 2)
        for each in (
            queries,
            nested_tensor_from_jagged(keys.flatten(0, 1), offsets),
            nested_tensor_from_jagged(values.flatten(0, 1), offsets),
        )
    )
    return nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


class LowRank(nn.Module):
    """Adds b @ a to a weight: parameters `a` [rank, columns] and `b` [rows, rank].

    At first it adds nothing, yet it can learn. The dtype is the weight's.
    """

    def __init__(self, weight: torch.Tensor, rank: int) -> None:
        super().__init__()
        rows, columns = weight.shape
        self.a = nn.Parameter(torch.randn(rank, columns, dtype=weight.dtype))
        self.b = nn.Parameter(torch.zeros(rows, rank, dtype=weight.dtype))

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """Return the weight plus what was learned."""
        return weight + self.b @ self.a


def adapt(encoder: nn.Module, rank: int) -> None:
    """Freeze the encoder, and parametrize the weight of each nn.Linear in it with a `LowRank`."""
    encoder.requires_grad_(requires_grad=False)
    for layer in [each for each in encoder.modules() if isinstance(each, nn.Linear)]:
        register_parametrization(layer, "weight", LowRank(layer.weight, rank))


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
        words = sentences(self.table, tokens)
        memory = self.encoder(patches(images, 2, 3)) + self.places
        found = look(self.ask(words), self.key(memory), self.value(memory), 2)
        x = words + self.out(found)
        logits: torch.Tensor = self.head(x.values()[x.offsets()[1:] - 1])
        return logits


def fit(model: Model, batches: Sequence[Batch], rate: float) -> list[float]:
    """Return the cross entropy of each batch (tokens, images, labels), taking a step after each.

    The optimizer is AdamW.
    """
    optimizer = torch.optim.AdamW(model.parameters(), rate)
    losses = []
    for tokens, images, labels in batches:
        loss = nn.functional.cross_entropy(model(tokens, images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
