"""Decode CTC: the likeliest path is not the likeliest text.

Two frames, blank 0.6 and "a" 0.4 in both. The blank wins each frame, so the likeliest path gives
nothing, with 0.36. But three paths give "a":

    a -   0.24        Keep for each text two sums: over paths that end with a blank,
    - a   0.24        and over those that end with a label. In the next frame, an "a"
    a a   0.16        turns the first into "aa"; the second stays "a".
          0.64

1. `greedy`: the best class of each frame, without repeats, then without blanks.
2. `step`: one frame of the prefix beam search. `search`, which is given, keeps the best.
3. `align`: where is each label? The recursion of k10_ctc, with the best path instead of the sum.
   Remember where you came from, and walk back. About 25 lines.

Begin on paper: which three things can a frame do to the text "a"?
Afterwards see ``unique_consecutive`` in ``torch/functional.py``, in site-packages. Real life
differs: torchaudio's `forced_align` is `align` in C++, and a language model guides the search.
"""

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
    # TODO
    raise NotImplementedError("greedy")


def step(beams: Beams, row: list[float]) -> Beams:
    """Return all beams one frame later; `row` has the frame's log-probability of each class.

    A beam is a tuple of labels with two numbers, the logs of two sums: over paths that collapse to
    these labels and end with a blank, and over those that end with a label. Do not change `beams`.
    """
    # TODO
    raise NotImplementedError("step")


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
    # TODO
    raise NotImplementedError("align")
