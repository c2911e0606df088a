"""Debug: five CTC training runs that stall."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn import functional as F


class Batch(NamedTuple):
    """Rows of different lengths, padded. Given."""

    # [frames, rows, classes]: what a linear layer returns.
    scores: torch.Tensor
    # int64 [rows, labels]: a row's labels are not blanks; the entries after them may be any class.
    labels: torch.Tensor
    # int64 [rows]: how many frames, and how many labels, a row has.
    frames: torch.Tensor
    sizes: torch.Tensor


def total(batch: Batch) -> torch.Tensor:
    """Return the sum over rows of the negative log-probability of the row's labels, []."""
    log_probs = batch.scores.log_softmax(-1)
    return F.ctc_loss(log_probs, batch.labels, batch.frames, batch.sizes, reduction="sum")


def fits(batch: Batch) -> torch.Tensor:
    """For each row, return whether some path of its frames gives its labels, bool [rows]."""
    same = batch.labels[:, 1:] == batch.labels[:, :-1]
    known = torch.arange(1, batch.labels.shape[1]) < batch.sizes[:, None]
    return batch.frames >= batch.sizes + (same & known).sum(1)


def found(batch: Batch) -> torch.Tensor:
    """Return the mean negative log-probability over the rows that fit; 0 if none fits.

    The gradient is finite, and 0 for scores of rows that do not fit.
    """
    log_probs = batch.scores.log_softmax(-1)
    each = F.ctc_loss(
        log_probs,
        batch.labels,
        batch.frames,
        batch.sizes,
        reduction="none",
        zero_infinity=True,
    )
    return each.sum() / fits(batch).sum().clamp(min=1)


def sentences(batch: Batch) -> torch.Tensor:
    """Return the mean over rows of the negative log-probability of a row's labels; all rows fit.

    Scores after a row's frames do not count.
    """
    log_probs = batch.scores.log_softmax(-1)
    each = F.ctc_loss(log_probs, batch.labels, batch.frames, batch.sizes, reduction="none")
    return each.mean()


def letters(batch: Batch) -> torch.Tensor:
    """Return what `total` returns, for labels that start at 0: the blank is the last class."""
    log_probs = batch.scores.log_softmax(-1)
    blank = batch.scores.shape[-1] - 1
    return F.ctc_loss(
        log_probs, batch.labels, batch.frames, batch.sizes, blank=blank, reduction="sum"
    )
