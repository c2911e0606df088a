"""Debug: five CTC training runs that stall.

F.ctc_loss raises nothing when it gets the wrong inputs. Each of these functions belongs to a
run that stalls, or worse. The tickets:

    total       "The loss is far below 0 by now, it goes on falling, and all transcripts are empty."
    fits        "Rows with fewer frames than labels are dropped. Still, one row in ten thousand has
                 loss inf, and all weights are NaN."
    found       "With zero_infinity=True the loss is 0.02 from the start. It learns nothing."
    sentences   "Long sentences hardly count. And the loss of a sentence depends on the longest
                 one in its batch."
    letters     "No model of ours has ever written an a."

Fix them, a line or two each; `sentences` has two bugs. Return what the docstrings say.

Begin with `fits`: which path gives [1, 1], and how long is it? And what is the gradient of inf?
Afterwards read ``ctc_loss`` in ``aten/src/ATen/native/LossCTC.cpp``: what does "mean" divide by?
"""

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


# TODO: find and fix the bugs. Nothing raises NotImplementedError here: the code is complete, but
# wrong.


def total(batch: Batch) -> torch.Tensor:
    """Return the sum over rows of the negative log-probability of the row's labels, []."""
    return F.ctc_loss(batch.scores, batch.labels, batch.frames, batch.sizes, reduction="sum")


def fits(batch: Batch) -> torch.Tensor:
    """For each row, return whether some path of its frames gives its labels, bool [rows]."""
    return batch.frames >= batch.sizes


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
    return each.mean()


def sentences(batch: Batch) -> torch.Tensor:
    """Return the mean over rows of the negative log-probability of a row's labels; all rows fit.

    Scores after a row's frames do not count.
    """
    frames, rows, _ = batch.scores.shape
    log_probs = batch.scores.log_softmax(-1)
    lengths = torch.full((rows,), frames)
    return F.ctc_loss(log_probs, batch.labels, lengths, batch.sizes)


def letters(batch: Batch) -> torch.Tensor:
    """Return what `total` returns, for labels that start at 0: the blank is the last class."""
    log_probs = batch.scores.log_softmax(-1)
    return F.ctc_loss(log_probs, batch.labels, batch.frames, batch.sizes, reduction="sum")
