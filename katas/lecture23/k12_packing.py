"""Documents that share a row without knowing of each other.

Padding short documents to the length of the longest wastes most of a batch. Packing puts several
documents in one row. It must not show: each document must get the outputs and the loss that it
would get alone. A row comes with each token's document number, and -1 for padding:

    tokens      7  3  8 |  5  9 | 4 |  0  0
    document    0  0  0 |  1  1 | 2 | -1 -1
    position    0  1  2 |  0  1 | 0 |  0  0
    label       3  8  . |  9  . | . |  .  .        . is -100, which cross_entropy ignores

1. `positions`: they restart with each document.
2. `labels`: the next token, if it belongs to the same document.
3. `mask`: who attends to whom.
4. `loss`: the mean over all labels. About 15 lines in all; no loop is needed.

Begin on paper: what would ``tokens.roll(-1)`` write into the last column?
Afterwards read about `reduction` in ``cross_entropy``, in ``torch/nn/functional.py``, and try the
mean of nothing.
Real life differs: FlexAttention takes a rule instead of a mask, and skips blocks.
"""

from __future__ import annotations

import torch


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
    # TODO: where does a document begin? A position is the distance from the last start.
    raise NotImplementedError("positions")


def labels(tokens: torch.Tensor, document: torch.Tensor) -> torch.Tensor:
    """Return the token that each token must predict, int64 [rows, room]; -100 where there is none.

    The last token of a document predicts nothing, nor does padding.
    """
    # TODO: which tokens have a next one?
    raise NotImplementedError("labels")


def mask(document: torch.Tensor) -> torch.Tensor:
    """Return bool [rows, 1, room, room] for SDPA: True where query (dim 2) may see key (dim 3).

    A token sees itself and the tokens before it in its own document. Padding sees nothing, and
    nobody sees padding.
    """
    # TODO: three conditions.
    raise NotImplementedError("mask")


def loss(logits: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy of logits [rows, room, words] over all labels but -100.

    Without any label the loss is 0, and ``backward`` still works, with gradients of 0. Only a batch
    without labels gets 0: a loss that is NaN stays NaN.
    """
    # TODO: a sum, and a count.
    raise NotImplementedError("loss")
