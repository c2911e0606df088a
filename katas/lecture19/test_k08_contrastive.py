"""Tests of k08_contrastive: the loss by enumeration, then the same batch split across ranks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch
from torch import distributed as dist

from katas.lecture19.conftest import close
from katas.lecture19.conftest import numbers
from katas.lecture19.k08_contrastive import Gather
from katas.lecture19.k08_contrastive import contrastive
from katas.lecture19.k08_contrastive import share
from plugins.kit import unchanged


if TYPE_CHECKING:
    from plugins.kit import World

    Slopes = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
    Part = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


gloo = pytest.mark.backend("gloo")

SCALE = torch.tensor(3.0).double().sqrt()
# How long ranks may wait for each other.
SOON = 5


def parts(rows: int) -> list[float]:
    """Return what each row adds to the loss of this many pairs, number by number."""
    images, captions = numbers(rows, 3, seed=1).tolist(), numbers(rows, 3, seed=2).tolist()

    def score(i: int, c: int) -> float:
        products = sum(a * b for a, b in zip(images[i], captions[c], strict=True))
        return SCALE.item() * products / math.hypot(*images[i]) / math.hypot(*captions[c])

    def lost(k: int) -> float:
        row = math.log(sum(math.exp(score(k, c)) for c in range(rows)))
        column = math.log(sum(math.exp(score(i, k)) for i in range(rows)))
        return row + column - 2 * score(k, k)

    return [lost(k) / (2 * rows) for k in range(rows)]


def slopes(name: str, loss: torch.Tensor, **leaves: torch.Tensor) -> Slopes:
    """Return the gradients of images, captions and scale."""
    assert loss.requires_grad, f"{name}: the loss has no graph, so no gradient can go back"
    found = torch.autograd.grad(loss, [*leaves.values()], allow_unused=True)
    missing = [f"`{leaf}`" for leaf, each in zip(leaves, found, strict=True) if each is None]
    assert not missing, f"{name}: {' and '.join(missing)} got no gradient"
    images, captions, scale = found
    return images, captions, scale


def whole(rows: int) -> Part:
    """Return the loss of the whole batch, and its gradients: for images, captions and scale."""
    images, captions = (numbers(rows, 3, seed=seed).requires_grad_() for seed in (1, 2))
    scale = SCALE.clone().requires_grad_()
    loss = contrastive(images, captions, scale)
    found = slopes("contrastive", loss, images=images, captions=captions, scale=scale)
    return loss.detach(), *found


def test_two_pairs() -> None:
    """With orthogonal columns each row and column gives log(1 + exp(-scale))."""
    images, captions = torch.tensor([[2.0, 0], [0, 5]]).double(), torch.eye(2).double()
    with unchanged(images=images, captions=captions, scale=SCALE):
        yours = contrastive(images, captions, SCALE)

    expected = math.log(1 + math.exp(-SCALE.item()))
    close(yours, torch.tensor(expected, dtype=torch.double), "cosines of 1 and 0, times scale")


def test_both_directions() -> None:
    """The loss compares each image with all captions, and each caption with all images."""
    for rows in (1, 3, 5):
        images, captions = numbers(rows, 3, seed=1), numbers(rows, 3, seed=2)
        expected = torch.tensor(sum(parts(rows)), dtype=torch.double)
        close(contrastive(images, captions, SCALE), expected, f"the loss of {rows} pairs")
        again = contrastive(captions, images, SCALE)
        close(again, expected, "images and captions swapped: the loss is symmetric")


def test_the_length_of_a_row_does_not_count() -> None:
    """Each image and each caption is normalised separately."""
    images, captions = numbers(4, 3, seed=1), numbers(4, 3, seed=2)
    longer = torch.tensor([[1.0], [20.0], [0.5], [3.0]]).double()
    expected = contrastive(images, captions, SCALE)

    close(contrastive(images * longer, captions, SCALE), expected, "images of other lengths")
    close(contrastive(images, captions * longer, SCALE), expected, "captions of other lengths")


def gathered() -> tuple[torch.Tensor | None, torch.Tensor]:
    """Return the gradients of this rank's rows and of all rows, if rank r weights all by r + 1."""
    rank, size = dist.get_rank(), dist.get_world_size()
    rows = numbers(2 * size, 3)[2 * rank : 2 * rank + 2].requires_grad_()
    found, came = Gather.apply(rows), list[torch.Tensor]()
    found.register_hook(came.append)
    # A loss of one number: backward with a gradient would import sympy for a second.
    ((rank + 1) * numbers(2 * size, 3, seed=3) * found).sum().backward()
    return rows.grad, came[0]


@gloo
def test_gather_has_a_gradient(world: World) -> None:
    """The gradient comes from all ranks, since each of them uses these rows."""
    for rank, (grad, came) in enumerate(world(gathered, 3, timeout=SOON)):
        assert grad is not None, f"no gradient reached the rows of rank {rank}"
        expected = numbers(6, 3, seed=3)[2 * rank : 2 * rank + 2] * (1 + 2 + 3)
        why = f"rank {rank} of 3: the losses of all ranks depend on its rows, by 1 + 2 + 3"
        close(grad, expected, why)
        kept = (rank + 1) * numbers(6, 3, seed=3)
        close(came, kept, f"rank {rank}: the gradient that came in, after backward")


def shared(rows: int) -> Part:
    """Return this rank's part of the loss with this many pairs per rank, and its gradients."""
    rank, size = dist.get_rank(), dist.get_world_size()
    images, captions = (
        numbers(rows * size, 3, seed=seed)[rows * rank :][:rows].requires_grad_() for seed in (1, 2)
    )
    scale = SCALE.clone().requires_grad_()
    loss = share(images, captions, scale)
    return loss.detach(), *slopes("share", loss, images=images, captions=captions, scale=scale)


@gloo
@pytest.mark.parametrize(("size", "rows"), [(1, 3), (2, 2), (3, 1)])
def test_each_rank_has_its_part(world: World, size: int, rows: int) -> None:
    """The rows and the columns of its own pairs, among all pairs of the world."""
    results = world(shared, size, rows, timeout=SOON)
    lost = parts(size * rows)
    for rank, (loss, *_) in enumerate(results):
        expected = torch.tensor(sum(lost[rows * rank :][:rows]), dtype=torch.double)
        close(loss, expected, f"rank {rank} of {size}: what its {rows} pairs add to the loss")


@gloo
@pytest.mark.parametrize(("size", "rows"), [(2, 2), (3, 1)])
def test_the_gradient_is_that_of_the_whole(world: World, size: int, rows: int) -> None:
    """Rows get the whole gradient; the scale's gradients are summed over ranks."""
    _, images, captions, scale = whole(size * rows)
    results = world(shared, size, rows, timeout=SOON)
    for rank, (_, mine, ours, _) in enumerate(results):
        own = slice(rows * rank, rows * rank + rows)
        close(mine, images[own], f"rank {rank} of {size}: the gradient of its images")
        close(ours, captions[own], f"rank {rank} of {size}: the gradient of its captions")
    total = torch.stack([each for *_, each in results]).sum()
    close(total, scale, "the gradient of the scale, summed over ranks")
