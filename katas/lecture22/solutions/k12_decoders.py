"""Decode CTC: the likeliest path is not the likeliest text."""

from __future__ import annotations

import math

import torch


INF = float("inf")

Labels = tuple[int, ...]


def add(a: float, b: float) -> float:
    """Return log(exp(a) + exp(b)). Given."""
    high, low = max(a, b), min(a, b)
    return high if low == -INF else high + math.log1p(math.exp(low - high))


def shifted(row: torch.Tensor, by: int) -> torch.Tensor:
    """Return a row of the same length whose element s is row[s - by], or -inf. Given."""
    return torch.cat([row.new_full((by,), -INF), row])[: len(row)]


def extended(labels: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return CTC's states and where a step of 2 may end: step 1 of k10_ctc. Given."""
    states = torch.zeros(2 * len(labels) + 1, dtype=torch.int64)
    states[1::2] = torch.tensor(labels, dtype=torch.int64)
    jumps = torch.zeros(len(states), dtype=torch.bool)
    jumps[2:] = (states[2:] != 0) & (states[2:] != states[:-2])
    return states, jumps


class Beams(dict[Labels, tuple[float, float]]):
    """Label sequences, each with the logs of two sums. Given."""

    def more(self, labels: Labels, end: int, log_p: float) -> None:
        """Add paths that collapse to `labels` and end with a blank (0) or a label (1)."""
        sums = [*self.get(labels, (-INF, -INF))]
        sums[end] = add(sums[end], log_p)
        self[labels] = (sums[0], sums[1])


def greedy(log_probs: torch.Tensor) -> list[int]:
    """Return the labels of the likeliest path; log_probs is [frames, classes], with blank 0."""
    path = log_probs.argmax(1).unique_consecutive()
    return path[path != 0].tolist()


def step(beams: Beams, row: list[float]) -> Beams:
    """Return all beams one frame later; `row` has the frame's log-probability of each class.

    A beam is a tuple of labels with two numbers, the logs of two sums: over paths that collapse to
    these labels and end with a blank, and over those that end with a label. Do not change `beams`.
    """
    found = Beams()
    for labels, (blank, label) in beams.items():
        both = add(blank, label)
        found.more(labels, 0, both + row[0])
        for c, log_p in enumerate(row[1:], 1):
            same = labels[-1:] == (c,)
            if same:
                found.more(labels, 1, label + log_p)
            found.more((*labels, c), 1, (blank if same else both) + log_p)
    return found


def search(log_probs: torch.Tensor, width: int) -> list[tuple[Labels, float]]:
    """Return the best `width` label sequences and their log-probabilities. Given."""
    beams = Beams({(): (0.0, -INF)})
    for row in log_probs.tolist():
        found = step(beams, row)
        best = sorted(found, key=lambda labels: add(*found[labels]), reverse=True)
        beams = Beams({labels: found[labels] for labels in best[:width]})
    return [(labels, add(*ends)) for labels, ends in beams.items()]


def align(log_probs: torch.Tensor, labels: list[int]) -> list[int]:
    """Return the likeliest path that collapses to `labels`: a class for each frame.

    There is at least one frame and one path. `labels` may be empty.
    """
    states, jumps = extended(labels)
    best = log_probs[0, states]
    best[2:] = -INF
    came = []
    for row in log_probs[1:]:
        ways = [best, shifted(best, 1), shifted(best, 2).where(jumps, -INF)]
        best, by = torch.stack(ways).max(0)
        best = best + row[states]
        came.append(by)
    walk = [len(best) - 1 - int(best[-1] < best[-2:].amax())]
    for by in reversed(came):
        walk.append(walk[-1] - int(by[walk[-1]]))
    return states[walk[::-1]].tolist()
