"""CTC: sum over all alignments, because nobody has labelled the right one.

A transcript says "aab", not when. CTC lets a model emit a label or a blank (class 0) in each frame,
drops repeats, then blanks, and adds up the probabilities of all paths that give "aab". Put blanks
around the labels, and each path moves to the right through these states:

    labels    1 1 2
    states    0   1   0   1   0   2   0      stay, go on by 1, or
                          `-------^          by 2, but not from 1 to 1: why?

1. `extend`: the states, and which of them may be entered by a step of 2.
2. `alphas`: the log-probability of all path prefixes that end in a state, frame by frame.
3. `loss` and `occupancy`: run the same recursion backwards, on flipped tensors, and you know for
   each frame which class the matching paths emit.
4. `CTC`: the gradient of logsumexp is NaN where all its inputs are -inf, so write backward
   yourself.
5. `pytorchs`: the gradient that F.ctc_loss returns, which is different: gradcheck fails on
   log_probs, and passes on scores before log_softmax. What may be added to the gradient there?

Do not call `ctc_loss`. About 30 lines, 75 minutes. Begin on paper: which states may be the first,
and which the last?

Afterwards read ``ctc_loss_backward_cpu_template`` in ``aten/src/ATen/native/LossCTC.cpp``. Real
life differs: whole batches, padded, and a cuDNN kernel for some shapes.
"""

from __future__ import annotations

from typing import Any

import torch


INF = float("inf")


def shifted(row: torch.Tensor, by: int) -> torch.Tensor:
    """Return a row of the same length whose element s is row[s - by], or -inf. Given."""
    return torch.cat([row.new_full((by,), -INF), row])[: len(row)]


def extend(labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the states, int64 [2 * len(labels) + 1], and where a step of 2 may end, bool.

    `labels` are int64, without blanks; there may be none.
    """
    # TODO
    raise NotImplementedError("extend")


def alphas(log_probs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return [frames, states]: the log of the sum over all path prefixes that end in each state.

    A prefix's probability is the product over all its frames, the last included. log_probs is
    [frames, classes], with at least one frame, and finite; the probabilities of a frame need not
    add up to 1.
    """
    # TODO
    raise NotImplementedError("alphas")


def loss(log_probs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the negative log-probability of `labels`, 0-dim; inf if no path collapses to them."""
    # TODO
    raise NotImplementedError("loss")


def occupancy(log_probs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return [frames, classes]: the share of `labels`' paths that emit each class in each frame.

    The paths are weighted by their probabilities, so the shares of a frame add up to 1. There is at
    least one path.
    """
    # TODO
    raise NotImplementedError("occupancy")


class CTC(torch.autograd.Function):
    """``CTC.apply(log_probs, labels)`` is `loss`, with its true gradient for log_probs."""

    @staticmethod
    def forward(ctx: Any, log_probs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Save what backward needs, and return the loss."""
        # TODO
        raise NotImplementedError("CTC.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the gradient for log_probs: the change of the loss when one of them changes."""
        # TODO
        raise NotImplementedError("CTC.backward")


def pytorchs(log_probs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the gradient for log_probs that ``F.ctc_loss(..., reduction="sum")`` returns.

    There is at least one path.
    """
    # TODO
    raise NotImplementedError("pytorchs")
