"""Documents that share a row without knowing of each other."""

from __future__ import annotations

import torch
from torch.nn.functional import cross_entropy


IGNORED = -100


def pack(documents: list[list[int]], room: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return tokens and document numbers, int64 [rows, room]: given.

    Documents stay in order; a document that does not fit begins the next row. Document numbers
    index the list, and -1 marks padding, after the last document of a row.
    """
    rows: list[list[int]] = [[]]
    numbers: list[list[int]] = [[]]
    for number, document in enumerate(documents):
        if len(rows[-1]) + len(document) > room:
            rows.append([])
            numbers.append([])
        rows[-1] += document
        numbers[-1] += [number] * len(document)
    tokens = torch.tensor([row + [0] * (room - len(row)) for row in rows])
    return tokens, torch.tensor([row + [-1] * (room - len(row)) for row in numbers])


def show(tokens: torch.Tensor, document: torch.Tensor) -> str:
    """Return a packed batch as text, with your positions and labels: given."""
    lines = {
        "tokens": tokens,
        "document": document,
        "position": positions(document),
        "label": labels(tokens, document),
    }
    return "\n".join(
        f"{name:9}" + "".join(f"{x if x != IGNORED else '.':>4}" for x in values[row].tolist())
        for row in range(len(tokens))
        for name, values in lines.items()
    )


def positions(document: torch.Tensor) -> torch.Tensor:
    """Return each token's position in its document, int64 [rows, room]; 0 for padding."""
    place = torch.arange(document.shape[1]).expand_as(document)
    begins = torch.ones_like(document, dtype=torch.bool)
    begins[:, 1:] = document[:, 1:] != document[:, :-1]
    first = torch.where(begins, place, 0).cummax(1).values
    return torch.where(document < 0, 0, place - first)


def labels(tokens: torch.Tensor, document: torch.Tensor) -> torch.Tensor:
    """Return the token that each token must predict, int64 [rows, room]; -100 where there is none.

    The last token of a document predicts nothing, nor does padding.
    """
    label = torch.full_like(tokens, IGNORED)
    same = (document[:, 1:] == document[:, :-1]) & (document[:, 1:] >= 0)
    label[:, :-1] = torch.where(same, tokens[:, 1:], IGNORED)
    return label


def mask(document: torch.Tensor) -> torch.Tensor:
    """Return bool [rows, 1, room, room] for SDPA: True where query (dim 2) may see key (dim 3).

    A token sees itself and the tokens before it in its own document. Padding sees nothing, and
    nobody sees padding.
    """
    same = (document[:, :, None] == document[:, None]) & (document >= 0)[:, None]
    return same.tril()[:, None]


def loss(logits: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy of logits [rows, room, words] over all labels but -100.

    Without any label the loss is 0, and ``backward`` still works, with gradients of 0. Only a batch
    without labels gets 0: a loss that is NaN stays NaN.
    """
    total = cross_entropy(
        logits.flatten(0, 1), label.flatten(), ignore_index=IGNORED, reduction="sum"
    )
    return total / (label != IGNORED).sum().clamp(min=1)
