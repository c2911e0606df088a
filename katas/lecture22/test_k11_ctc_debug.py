"""Tests of k11_ctc_debug: small rows, all of whose paths are added up one by one."""

from __future__ import annotations

from itertools import groupby
from itertools import product
from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture22.k11_ctc_debug import Batch
from katas.lecture22.k11_ctc_debug import fits
from katas.lecture22.k11_ctc_debug import found
from katas.lecture22.k11_ctc_debug import letters
from katas.lecture22.k11_ctc_debug import sentences
from katas.lecture22.k11_ctc_debug import total
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


ROWS = [([1, 2], 4), ([2], 2), ([1, 1, 2], 5)]


def batch_of(
    rows: list[tuple[list[int], int]], seed: int = 0, padding: int = 1, classes: int = 3
) -> Batch:
    """Return a batch with these labels and frame counts."""
    dice = torch.Generator().manual_seed(seed)
    frames = max(frames for _, frames in rows) + 1
    scores = torch.randn(frames, len(rows), classes, dtype=torch.float64, generator=dice) * 2
    most = max(len(labels) for labels, _ in rows) + 1
    padded = [[*labels, *[padding] * (most - len(labels))] for labels, _ in rows]
    return Batch(
        scores,
        torch.tensor(padded),
        torch.tensor([frames for _, frames in rows]),
        torch.tensor([len(labels) for labels, _ in rows]),
    )


def losses(batch: Batch, blank: int = 0) -> torch.Tensor:
    """Return the loss of each row, path by path; inf where there is no path."""
    found = []
    for row, (frames, size) in enumerate(
        zip(batch.frames.tolist(), batch.sizes.tolist(), strict=True)
    ):
        log_probs = batch.scores[:frames, row].log_softmax(-1)
        right = batch.labels[row, :size].tolist()
        parts = [
            log_probs[torch.arange(frames), torch.tensor(path)].sum()
            for path in product(range(log_probs.shape[-1]), repeat=frames)
            if [label for label, _ in groupby(path) if label != blank] == right
        ]
        found.append(-torch.stack(parts).logsumexp(0) if parts else torch.tensor(torch.inf))
    return torch.stack(found)


def same(yours: torch.Tensor, expected: torch.Tensor, what: str) -> None:
    """Compare two numbers."""
    __tracebackhide__ = True
    gap = abs(float(yours.detach()) - float(expected.detach()))
    assert gap < 1e-10, (
        f"{what}: yours is {float(yours.detach()):.6f}, expected {float(expected.detach()):.6f}"
    )


def compare(
    loss: Callable[[Batch], torch.Tensor],
    batch: Batch,
    right: Callable[[Batch], torch.Tensor],
    what: str,
) -> None:
    """Compare loss and gradient."""
    __tracebackhide__ = True
    scores = batch.scores.clone().requires_grad_()
    with unchanged(scores=scores, labels=batch.labels, frames=batch.frames, sizes=batch.sizes):
        yours = loss(batch._replace(scores=scores))
    expected = right(batch._replace(scores=scores))
    same(yours, expected, what)
    (mine,) = torch.autograd.grad(yours, scores)
    assert mine.isfinite().all(), f"{what}: your gradient has NaN or inf: {mine[:, 0].tolist()}"
    (true,) = torch.autograd.grad(expected, scores)
    says = f"{what}: your gradient\n{mine.tolist()}\nexpected\n{true.tolist()}\n".__add__
    torch.testing.assert_close(mine, true, rtol=0, atol=1e-10, msg=says)


def mean_of_what_fits(batch: Batch) -> torch.Tensor:
    """Return what `found` should return, path by path."""
    every = losses(batch)
    return every[every.isfinite()].mean()


def test_total_of_one_row() -> None:
    """Scores become log-probabilities: no loss is below 0."""
    batch = batch_of([([1], 1)])
    batch = batch._replace(scores=batch.scores + 5)
    same(total(batch), losses(batch)[0], "one frame, one label")


def test_total() -> None:
    """Three rows of different lengths."""
    compare(total, batch_of(ROWS), lambda batch: losses(batch).sum(), "the sum over three rows")


@pytest.mark.parametrize("padding", [1, 2])
def test_what_fits(padding: int) -> None:
    """Equal neighbours need a blank in between; entries after a row's labels do not count."""
    rows = [([1, 1], 2), ([1, 1], 3), ([1, 2], 2), ([1, 2, 1], 3), ([2, 2, 2], 4), ([2, 2, 2], 5)]
    rows += [([1], 1), ([2], 1), ([1, 2], 1)]
    batch = batch_of(rows, padding=padding)
    with unchanged(*batch):
        yours = fits(batch)

    right = losses(batch).isfinite()
    assert yours.dtype == torch.bool, f"yours is {yours.dtype}, expected bool"
    wrong = [
        f"{padded.tolist()}, size {size}, in {frames} frames: yours {bool(mine)}"
        for padded, frames, size, mine, true in zip(*batch[1:], yours, right, strict=True)
        if mine != true
    ]
    assert not wrong, (
        f"{'; '.join(wrong)}. Write down the shortest path. Entries after a row's size do not count"
    )


def test_mean_of_what_fits() -> None:
    """Two of three rows have a path, and the mean is over those; the third gets no gradient."""
    batch = batch_of([([1, 2], 4), ([1, 1], 2), ([2], 3)])
    compare(found, batch, mean_of_what_fits, "rows 1 2 and 2 fit, and 1 1 in two frames does not")
    batch = batch_of([([1, 1], 2), ([2], 2)])
    compare(found, batch, mean_of_what_fits, "row 2 fits, and 1 1 in two frames does not")
    nothing = batch_of([([1, 1], 2), ([2, 2], 1)])
    scores = nothing.scores.requires_grad_()
    yours = found(nothing._replace(scores=scores))
    assert yours == 0, f"if no row fits: yours is {float(yours.detach())}, expected 0"
    (mine,) = torch.autograd.grad(yours, scores)
    assert (mine == 0).all(), f"if no row fits: your gradient is {mine.tolist()}, expected zeros"


def test_a_certain_row_counts() -> None:
    """A row whose loss is exactly 0 fits as well, so the mean is over two of three."""
    batch = batch_of([([1], 1), ([2], 1), ([1, 1], 2)])
    scores = torch.zeros_like(batch.scores)
    scores[0, 0, 1] = 1000
    what = "rows 1 and 2 fit, row 1 with loss 0, and 1 1 in two frames does not"
    compare(found, batch._replace(scores=scores), mean_of_what_fits, what)


def test_long_sentences_count() -> None:
    """A row of three labels contributes its whole loss; all rows have the same number of frames."""
    batch = batch_of([([1, 1, 2], 5), ([2], 5)])
    batch = batch._replace(scores=batch.scores[:5])
    compare(sentences, batch, lambda each: losses(each).mean(), "three labels and one")


def test_neighbours_do_not_matter() -> None:
    """A row's loss is the same next to a longer row."""
    batch = batch_of(ROWS, seed=2)
    compare(sentences, batch, lambda each: losses(each).mean(), "rows of 4, 2 and 5 frames")


def test_letters() -> None:
    """Labels 0 and 1, and the blank is class 2."""
    batch = batch_of([([0, 1], 3), ([0, 0], 4)], padding=0)
    compare(letters, batch, lambda each: losses(each, blank=2).sum(), "labels 0 and 1")
    batch = batch_of([([0, 1], 3)], padding=0, classes=4)
    what = "labels 0 and 1 of 0, 1, 2: class 3 is the blank"
    compare(letters, batch, lambda each: losses(each, blank=3).sum(), what)
