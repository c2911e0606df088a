"""CTC: sum over all alignments, because nobody has labelled the right one."""

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
    states = torch.zeros(2 * len(labels) + 1, dtype=torch.int64)
    states[1::2] = labels
    jumps = torch.zeros(len(states), dtype=torch.bool)
    jumps[2:] = (states[2:] != 0) & (states[2:] != states[:-2])
    return states, jumps


def alphas(log_probs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return [frames, states]: the log of the sum over all path prefixes that end in each state.

    A prefix's probability is the product over all its frames, the last included. log_probs is
    [frames, classes], with at least one frame, and finite; the probabilities of a frame need not
    add up to 1.
    """
    states, jumps = extend(labels)
    emitted = log_probs[:, states]
    row = emitted[0].clone()
    row[2:] = -INF
    rows = [row]
    for frame in emitted[1:]:
        ways = [row, shifted(row, 1), shifted(row, 2).where(jumps, -INF)]
        row = torch.stack(ways).logsumexp(0) + frame
        rows.append(row)
    return torch.stack(rows)


def loss(log_probs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the negative log-probability of `labels`, 0-dim; inf if no path collapses to them."""
    return -alphas(log_probs, labels)[-1, -2:].logsumexp(0)


def occupancy(log_probs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return [frames, classes]: the share of `labels`' paths that emit each class in each frame.

    The paths are weighted by their probabilities, so the shares of a frame add up to 1. There is at
    least one path.
    """
    states, _ = extend(labels)
    before = alphas(log_probs, labels)
    after = alphas(log_probs.flip(0), labels.flip(0)).flip(0, 1)
    joint = before + after - log_probs[:, states] + loss(log_probs, labels)
    return torch.zeros_like(log_probs).index_add(1, states, joint.exp())


class CTC(torch.autograd.Function):
    """``CTC.apply(log_probs, labels)`` is `loss`, with its true gradient for log_probs."""

    @staticmethod
    def forward(ctx: Any, log_probs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Save what backward needs, and return the loss."""
        ctx.save_for_backward(log_probs, labels)
        return loss(log_probs, labels)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the gradient for log_probs: the change of the loss when one of them changes."""
        log_probs, labels = ctx.saved_tensors
        return -grad * occupancy(log_probs, labels), None


def pytorchs(log_probs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the gradient for log_probs that ``F.ctc_loss(..., reduction="sum")`` returns.

    There is at least one path.
    """
    return log_probs.exp() - occupancy(log_probs, labels)
