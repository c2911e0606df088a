"""Tests of k10_losses: values and gradients where nothing is labelled, or a model is sure."""

from __future__ import annotations

from math import exp
from math import log1p
from math import sqrt
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.autograd.gradcheck import GradcheckError
from torch.nn import functional

from katas.lecture21.k10_losses import edge_loss
from katas.lecture21.k10_losses import focal_loss
from katas.lecture21.k10_losses import in_parts
from katas.lecture21.k10_losses import pixel_loss
from katas.lecture21.k10_losses import shrunk
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


WEIGHT = torch.tensor([0.3, 1.7, 2.9], dtype=torch.float64)


def numbers(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational float64 values."""
    dice = torch.Generator().manual_seed(100 * seed + sum(size))
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def labels(*size: int, seed: int = 0, ignored: float = 0.3) -> torch.Tensor:
    """Return labels 0, 1 and 2, a share of them replaced by 255."""
    dice = torch.Generator().manual_seed(seed)
    drawn = torch.randint(0, 3, size, generator=dice)
    return drawn.masked_fill(torch.rand(size, generator=dice) < ignored, 255)


def close(yours: torch.Tensor, expected: Any, why: str) -> None:
    """Compare to twelve digits."""
    __tracebackhide__ = True
    right = torch.as_tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(
        yours,
        right,
        rtol=1e-12,
        atol=1e-12,
        msg=lambda text: f"{why}\nyours {yours.tolist()}\nexpected {right.tolist()}\n{text}",
    )


def slope(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """Return the gradient of a loss."""
    z = x.clone().requires_grad_()
    loss = function(z)
    assert loss.requires_grad, "your loss does not require grad: backward() would raise"
    (found,) = torch.autograd.grad(loss, z)
    return found


def checked(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> None:
    """Compare the gradient with finite differences."""
    __tracebackhide__ = True
    try:
        torch.autograd.gradcheck(function, x.clone().requires_grad_())
    except GradcheckError as error:
        raise AssertionError(f"gradcheck says: {' '.join(str(error).split())}") from None


def test_pixel_loss() -> None:
    """Nothing labelled: 0, with a gradient. Otherwise the mean over labelled pixels."""
    logits, some = numbers(2, 3, 4, 5), labels(2, 4, 5)
    none = torch.full((2, 4, 5), 255)
    with unchanged(logits=logits, none=none, some=some):
        yours = pixel_loss(logits, none), pixel_loss(logits, some)
    close(yours[0], 0.0, "no pixel is labelled")
    gradient = slope(lambda x: pixel_loss(x, none), logits)
    close(gradient, torch.zeros_like(logits), "the gradient where no pixel is labelled")
    large = torch.full((1, 2, 2, 2), 2e38).requires_grad_()
    zero = pixel_loss(large, none[:1, :2, :2])
    (gradient,) = torch.autograd.grad(zero, large)
    says = "no pixel is labelled, and 8 logits are 2e38: their sum is inf in float32"
    close(zero.double(), 0.0, says)
    close(gradient.double(), torch.zeros_like(gradient), f"the gradient where {says}")
    chosen = logits.movedim(1, -1)[some != 255].log_softmax(-1)
    expected = -chosen.gather(1, some[some != 255][:, None]).mean()
    close(yours[1], expected, f"the mean over {len(chosen)} labelled pixels of 40")
    alone = torch.full((1, 1, 2), 255)
    alone[0, 0, 1] = 2
    one = -logits[:1, :, :1, 1].log_softmax(1)[0, 2, 0]
    close(pixel_loss(logits[:1, :, :1, :2], alone), one, "a single labelled pixel")


def test_pixel_loss_shows_what_is_wrong() -> None:
    """A loss that is NaN because the model is broken stays NaN; nothing hides it."""
    broken = torch.full((1, 3, 2, 2), torch.nan).double()
    yours = pixel_loss(broken, torch.ones(1, 2, 2).long())
    assert yours.isnan(), (
        f"all logits are NaN, all pixels labelled: yours is {yours.item()}, expected NaN"
    )
    none = pixel_loss(numbers(1, 3, 2, 2), torch.full((1, 2, 2), 255))
    close(none, 0.0, "no pixel is labelled")


def test_in_parts() -> None:
    """Three parts of different sizes, one without a label, count as one long row of pixels."""
    parts = [
        (numbers(2, 3, 4, 5), labels(2, 4, 5)),
        (numbers(1, 3, 2, 2), labels(1, 2, 2, seed=1, ignored=0.0)),
        (numbers(1, 3, 2, 3), torch.full((1, 2, 3), 255)),
    ]
    x = torch.cat([x.movedim(1, -1).flatten(0, 2) for x, _ in parts])
    y = torch.cat([y.flatten() for _, y in parts])
    with unchanged(parts=parts, weight=WEIGHT):
        yours = in_parts(parts, WEIGHT)
    expected = functional.cross_entropy(x, y, WEIGHT, ignore_index=255)
    divides = "cross_entropy divides by the sum of the weights of its labels"
    close(yours, expected, f"three parts, against all their pixels in one batch: {divides}")
    one = functional.cross_entropy(*parts[1], WEIGHT)
    close(in_parts(parts[1:], WEIGHT), one, "a part beside one that has no labelled pixel")
    checked(lambda z: in_parts([(z, parts[1][1]), parts[0]], WEIGHT), parts[1][0])


def test_edge_loss() -> None:
    """Extreme logits: the loss grows as they do, and the gradient stays 1."""
    x = torch.tensor([-200.0, -1000.0, 1000.0, 1000.0, 0.5]).double()
    target = torch.tensor([1.0, 1.0, 0.0, 1.0, 0.25]).double()
    right = [200.0, 1000.0, 1000.0, 0.0, log1p(exp(0.5)) - 0.125]
    for z, t, expected in zip(x, target, right, strict=True):
        close(edge_loss(z, t), expected, f"logit {z.item()}, target {t.item()}")
        low = edge_loss(z.float(), t.float())
        close(low.double(), torch.tensor(expected).float(), f"float32 of logit {z.item()}")
        assert low.dtype == torch.float32, (
            f"float32 logits: your loss is {low.dtype}, expected float32"
        )
    gradient = slope(lambda z: edge_loss(z, target), x)
    last = 1 / (1 + exp(-0.5)) - 0.25
    close(5 * gradient, [-1.0, -1.0, 1.0, 0.0, last], f"5 times the gradient at {x.tolist()}")
    inner, soft = numbers(3, 4), numbers(3, 4, seed=1).sigmoid()
    with unchanged(inner=inner, soft=soft):
        yours = edge_loss(inner, soft)
    p = inner.sigmoid()
    expected = -(soft * p.log() + (1 - soft) * (1 - p).log()).mean()
    close(yours, expected, "small logits, targets between 0 and 1")


def test_focal_loss_where_the_model_is_sure() -> None:
    """Right and sure costs 0; wrong and sure costs as much as cross entropy; no gradient is NaN."""
    x = torch.tensor([40.0, 1000.0, -1000.0, 1000.0, -50.0]).double()
    target = torch.tensor([1.0, 1.0, 0.0, 0.0, 1.0]).double()
    for gamma in (0.5, 2.0, 0.0, 1.0):
        yours = focal_loss(x, target, gamma)
        close(5 * yours, 1050.0, f"gamma = {gamma}: sum over {x.tolist()} for {target.tolist()}")
        gradient = slope(lambda z, g=gamma: focal_loss(z, target, g), x)
        close(5 * gradient, [0.0, 0.0, 0.0, 1.0, -1.0], f"gamma = {gamma}: 5 times the gradient")


def test_focal_loss_elsewhere() -> None:
    """The formula, for both targets; gradcheck for a gamma below 1."""
    x, target = numbers(3, 4), (numbers(3, 4, seed=1) > 0).double()
    p = torch.where(target == 1, x.sigmoid(), (-x).sigmoid())
    for gamma in (0.0, 0.5, 3.0):
        with unchanged(x=x, target=target):
            yours = focal_loss(x, target, gamma)
        close(yours, (-((1 - p) ** gamma) * p.log()).mean(), f"the formula, gamma = {gamma}")
    checked(lambda z: focal_loss(z, target, 0.5), x)
    q = 1 / (1 + exp(16.0))
    y = torch.tensor([16.0, 100.0]).double()
    gradient = slope(lambda z: focal_loss(z, torch.ones_like(z), 0.5), y)
    value = -1.5 * q * sqrt(q) / 2
    close(gradient, [value, 0.0], "the gradient at logit 16 is small, and at 100 it is not NaN")


def test_shrunk() -> None:
    """Labels are names: no block may get a label that lies between those of its pixels."""
    horizon = torch.tensor([[0, 0, 0, 0], [4, 4, 4, 4], [4, 4, 255, 4], [4, 4, 4, 4]])[None]
    yours = shrunk(horizon, 2)
    right = [[[0, 0], [4, 255]]]
    assert yours.tolist() == right, f"4 x 4 to 2 x 2: yours is {yours.tolist()}, expected {right}"
    names = torch.randint(0, 200, (2, 6, 9), generator=torch.Generator().manual_seed(2))
    for kind in (torch.int64, torch.uint8):
        small = names.to(kind)
        with unchanged(small=small):
            yours = shrunk(small, 3)
        assert yours.dtype == torch.int64, f"{kind} labels: yours is {yours.dtype}, expected int64"
        expected = names[:, ::3, ::3]
        assert torch.equal(yours, expected), (
            f"2 images of 6 x 9, factor 3: yours is {yours.tolist()}, the first pixel of each "
            f"block has {expected.tolist()}"
        )
    large = torch.arange(98 * 98).view(1, 98, 98) % 251
    yours, expected = shrunk(large, 49), large[:, ::49, ::49]
    assert torch.equal(yours, expected), (
        f"98 x 98, factor 49: yours is {yours.tolist()}, expected {expected.tolist()}; "
        "98 * (1 / 49) is less than 2"
    )
    one = shrunk(names, 1)
    assert torch.equal(one, names), "with a factor of 1 your result differs from the labels"
