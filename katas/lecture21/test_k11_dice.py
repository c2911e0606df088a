"""Tests of k11_dice: masks that are larger than a half-precision number, classes beyond a byte."""

from __future__ import annotations

from itertools import product
from typing import Any

import torch
from torch.autograd.gradcheck import GradcheckError

from katas.lecture21.k11_dice import confusion
from katas.lecture21.k11_dice import dice
from katas.lecture21.k11_dice import mean_iou
from plugins.kit import unchanged


def draw(*size: int, seed: int = 0) -> torch.Tensor:
    """Return numbers between 0 and 1."""
    return torch.rand(*size, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def close(yours: torch.Tensor, expected: Any, why: str, tolerance: float = 1e-12) -> None:
    """Compare values and dtype."""
    __tracebackhide__ = True
    right = (
        expected
        if isinstance(expected, torch.Tensor)
        else torch.tensor(expected, dtype=torch.float64)
    )
    says = (
        f"{why}\nyours {yours.tolist()}, {yours.dtype}; expected {right.tolist()}, {right.dtype}\n"
    )
    torch.testing.assert_close(yours, right, rtol=tolerance, atol=tolerance, msg=says.__add__)


def test_two_small_images() -> None:
    """One image is half right; the other has no mask and predicts none: a loss of 0."""
    p = torch.tensor([[[1.0, 1.0, 0.0, 0.0]], [[0.0, 0.0, 0.0, 0.0]]]).double()
    target = torch.tensor([[[True, False, True, False]], [[False] * 4]])
    with unchanged(p=p, target=target):
        yours = dice(p, target)

    close(yours, [0.4, 0.0], "1 - (2 * 1 + 1) / (2 + 2 + 1), and 1 - 1 / 1")


def test_large_images_in_half_precision() -> None:
    """512 x 512: the sums are far beyond 65504, and the loss is not."""
    p = draw(2, 512, 512) * 0.2 + 0.7
    target = draw(2, 512, 512, seed=1) < 0.9
    for kind in (torch.float16, torch.bfloat16, torch.float32):
        low = p.to(kind)
        with unchanged(low=low, target=target):
            yours = dice(low, target)
        wide = low.double()
        expected = 1 - (2 * (wide * target).sum((1, 2)) + 1) / (
            wide.sum((1, 2)) + target.sum((1, 2)) + 1
        )
        close(yours, expected.float(), f"{kind} of 512 x 512: is a sum rounded to it?", 1e-6)


def test_gradient_of_dice() -> None:
    """It agrees with finite differences; in float16 it is the same, rounded."""
    p, target = draw(2, 3, 4).requires_grad_(), draw(2, 3, 4, seed=1) < 0.5
    try:
        torch.autograd.gradcheck(lambda z: dice(z, target), p)
    except GradcheckError as error:
        raise AssertionError(f"gradcheck says: {' '.join(str(error).split())}") from None
    low = p.detach().half().requires_grad_()
    (yours,) = torch.autograd.grad(dice(low, target).sum(), low)
    (expected,) = torch.autograd.grad(dice(low.double(), target).sum(), low)
    close(yours, expected, "the gradient of float16 probabilities", 1e-3)


def test_a_table_of_three_classes() -> None:
    """Rows are targets, columns predictions; class 2 is never predicted."""
    target = torch.tensor([[0, 0, 1], [1, 2, 2]])
    predicted = torch.tensor([[0, 1, 1], [1, 0, 1]])
    with unchanged(target=target, predicted=predicted):
        yours = confusion(predicted, target, 3)

    close(yours, torch.tensor([[1, 1, 0], [0, 2, 0], [1, 1, 0]]), "rows are targets, 3 classes")


def test_pixels_that_do_not_count() -> None:
    """A target of 255 is left out, whatever is predicted; all targets may be 255."""
    target = torch.tensor([[255, 1, 255, 0]])
    yours = confusion(torch.tensor([[0, 1, 1, 1]]), target, 2)
    none = confusion(torch.zeros(1, 4).long(), torch.full((1, 4), 255), 2)

    close(yours, torch.tensor([[0, 1], [0, 1]]), "targets 255, 1, 255, 0; predicted 0, 1, 1, 1")
    close(none, torch.zeros(2, 2).long(), "no pixel counts: two classes all the same")


def test_classes_beyond_a_byte() -> None:
    """21 classes in uint8: 21 * 20 + 20 is 440."""
    target = (draw(3, 40, 50) * 21).to(torch.uint8)
    predicted = (draw(3, 40, 50, seed=1) * 21).to(torch.uint8)
    target[0, 0] = 255
    yours = confusion(predicted, target, 21)
    expected = torch.zeros(21, 21).long()
    for t, p in product(range(21), range(21)):
        expected[t, p] = ((target == t) & (predicted == p)).sum()

    assert (yours.dtype, yours.shape) == (torch.int64, (21, 21)), (
        f"your table is {yours.dtype} of {tuple(yours.shape)}, expected int64 of (21, 21)"
    )
    wrong = (yours != expected).sum().item()
    assert wrong == 0, f"{wrong} of 441 numbers differ; row 20: {yours[20].tolist()}"
    mixed = confusion(predicted.long(), target, 21)
    assert torch.equal(mixed, expected), (
        "int64 predictions with uint8 targets: your table differs from the expected one"
    )


def test_mean_iou() -> None:
    """Class 0 has 4 / (4 + 1 + 2); a class that is only predicted has an IoU of 0."""
    table = torch.tensor([[4, 1, 0, 0], [2, 5, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]])
    with unchanged(table=table):
        yours = mean_iou(table)

    close(yours, (4 / 7 + 5 / 9 + 0) / 3, "IoUs of 4 / 7, 5 / 9 and 0 / 1; class 2 is nowhere")
    large = 2**53
    yours = mean_iou(torch.tensor([[large // 2 + 1, 1], [large // 4, large // 4 - 7]]))
    first = (large // 2 + 1) / (large // 2 + 2 + large // 4)
    second = (large // 4 - 7) / (large // 2 - 6)
    close(yours, (first + second) / 2, "counts beyond 2 ** 24, where float32 stops counting")
