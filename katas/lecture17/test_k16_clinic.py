"""Tests of k16_clinic: three patients are trained here, and examined by your instruments."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn

from katas.lecture17.conftest import MARK
from katas.lecture17.conftest import bars
from katas.lecture17.conftest import captum
from katas.lecture17.conftest import close
from katas.lecture17.conftest import numbers
from katas.lecture17.conftest import quietly
from katas.lecture17.conftest import records
from katas.lecture17.conftest import train
from katas.lecture17.k16_clinic import flips
from katas.lecture17.k16_clinic import hottest
from katas.lecture17.k16_clinic import importance
from katas.lecture17.k16_clinic import leak
from katas.lecture17.k16_clinic import revive
from katas.lecture17.k16_clinic import shuffled
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


one = pytest.mark.step(1, "where it looks")
two = pytest.mark.step(2, "a proof")
three = pytest.mark.step(3, "a cure")
four = pytest.mark.step(4, "dead units")
five = pytest.mark.step(5, "a leaking label")


def network() -> nn.Sequential:
    """Return a network for images of 8 x 8, seeded."""
    torch.manual_seed(8)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2))


@cache
def ill() -> nn.Module:
    """Return the network that was trained on marked images."""
    return train(network(), *bars(256, 1), steps=40)


def accuracy(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    """Return the share of right answers."""
    return float((model(x).argmax(1) == y).double().mean())


class Pixel(nn.Module):
    """Reads one pixel, and nothing else."""

    def __init__(self, row: int, column: int) -> None:
        super().__init__()
        self.row, self.column = row, column

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return two logits, for and against."""
        z = (x[:, 0, self.row, self.column] * 3).tanh()
        return torch.stack([-z, z], 1)


def dice(seed: int = 0) -> torch.Generator:
    """Return a generator."""
    return torch.Generator().manual_seed(seed)


@one
@pytest.mark.parametrize(("row", "column"), [(0, 0), (2, 5), (6, 1)])
def test_a_model_of_one_pixel(row: int, column: int) -> None:
    """Images of 7 x 6, with rows first."""
    x, y = numbers(10, 1, 7, 6).float(), torch.arange(10) % 2
    x[:, :, 4, 3] *= 100
    yours = hottest(Pixel(row, column), x, y)

    assert yours == (row, column), (
        f"the model reads only pixel {(row, column)}, although (4, 3) varies most; your answer is"
        f" {yours}"
    )


@one
def test_signs_do_not_cancel() -> None:
    """A pixel that speaks for the class in one image and against it in the next is hot."""
    layer = nn.Linear(42, 2, bias=False)
    with torch.no_grad():
        layer.weight.zero_()[0, [2 * 6 + 1, 4]] = 1.0
    x, y = torch.zeros(4, 1, 7, 6), torch.zeros(4, dtype=torch.long)
    x[:, 0, 2, 1] = torch.tensor([3.0, -3.0, 3.0, -3.0])
    x[:, 0, 0, 4] = 1.0
    yours = hottest(nn.Sequential(nn.Flatten(), layer), x, y)

    assert yours == (2, 1), (
        "pixel (2, 1) adds 3 to the logit or takes 3 from it, (0, 4) adds 1, no other is read;"
        f" your answer is {yours}: first the magnitude, then the mean over images"
    )


@one
def test_it_looks_at_the_watermark() -> None:
    """The hottest pixel of the patient is in the watermark's region."""
    x, y = bars(128, 4)
    with unchanged(ill(), x=x):
        row, column = hottest(ill(), x, y)

    assert row in range(8)[MARK[0]], (
        f"your answer is row {row}, but the watermark covers rows 0 and 1"
    )
    assert column in range(8)[MARK[1]], (
        f"your answer is column {column}, but the watermark covers columns 6 and 7"
    )


@two
def test_flips_of_one_pixel() -> None:
    """A model that reads one pixel follows it: always if it is swapped, otherwise never."""
    x, y = numbers(10, 1, 7, 6).float(), torch.arange(10) % 2
    x[:, 0, 2, 5] = 2.0 * y - 1
    model = Pixel(2, 5)
    with unchanged(x=x):
        there = flips(model, x, y, (slice(2, 3), slice(4, 6)))
        elsewhere = flips(model, x, y, (slice(3, 7), slice(0, 6)))

    assert there == 1.0, (
        f"the pixel is in the region: yours {there}, expected 1, since all answers change"
    )
    assert elsewhere == 0.0, f"the pixel is not in the region: yours {elsewhere}, expected 0"


@two
def test_flips_take_the_first_of_another_class() -> None:
    """Three classes; the donor of each is the first image of the others."""
    x = torch.tensor([5.0, 5.0, -1.0, 5.0]).view(4, 1, 1, 1)
    y = torch.tensor([0, 0, 1, 2])
    yours = flips(Pixel(0, 0), x, y, (slice(0, 1), slice(0, 1)))

    assert yours == 0.75, (
        f"donors are images 2, 2, 0, 0: the answers of 0, 1 and 2 change, 3's does not;"
        f" yours {yours}"
    )


@two
def test_the_answers_follow_the_watermark() -> None:
    """Swapping the watermark changes the answers; another region changes next to none."""
    x, y = bars(128, 4)
    there = flips(ill(), x, y, MARK)
    elsewhere = flips(ill(), x, y, (slice(6, 8), slice(0, 2)))

    assert there > 0.5, (
        f"swapping the watermark changes {there:.2f} of the answers, expected more than 0.5"
    )
    assert elsewhere < there / 4, (
        f"swapping another corner changes {elsewhere:.2f} of the answers, expected less than a"
        f" quarter of {there:.2f}"
    )


@three
def test_shuffled_regions() -> None:
    """A permutation of the regions, each as a whole; nothing else changes."""
    x, region = numbers(50, 1, 8, 8), (slice(1, 3), slice(2, 6))
    with unchanged(x=x):
        yours = shuffled(x, region, dice(4))
    order = torch.randperm(50, generator=dice(4))
    expected = x.clone()
    expected[:, :, 1:3, 2:6] = x[order][:, :, 1:3, 2:6]
    outside = torch.ones(8, 8, dtype=torch.bool)
    outside[1:3, 2:6] = False

    close(yours[..., outside], x[..., outside], "outside the region")
    close(yours, expected, "regions of the images in the order torch.randperm(50, generator=dice)")


@three
def test_the_cured_model_looks_at_bars() -> None:
    """Trained on your images: right without the watermark, and the answers do not follow it."""
    generator = dice(5)
    healthy = train(
        network(), *bars(256, 1), steps=120, change=lambda x: shuffled(x, MARK, generator)
    )
    x, y = bars(128, 3, share=0.0)
    before, after = accuracy(ill(), x, y), accuracy(healthy, x, y)

    assert after > 0.85, (
        f"on images with the watermark in the wrong class, the accuracy was {before:.2f}, and is"
        f" now {after:.2f}; expected more than 0.85"
    )
    followed = flips(healthy, x, y, MARK)
    assert followed < 0.1, f"{followed:.2f} of the answers still follow the watermark"


def faint() -> tuple[nn.Linear, nn.Linear, torch.Tensor]:
    """Return two layers and rows; units 1, 4 and 6 of eight never fire, and 6 is exactly 0.

    The values of unit 2 are small.
    """
    torch.manual_seed(3)
    first, second = nn.Linear(5, 8).double(), nn.Linear(8, 3).double()
    x = numbers(20, 5)
    with torch.no_grad():
        first.bias.add_(1.0)
        first.bias[[1, 4]] = -30.0
        first.weight[6], first.bias[6] = 0.0, 0.0
        first.weight[2], first.bias[2] = first.weight[2] / 1000, first.bias[2] / 1000
    return first, second, x


@four
def test_revive_finds_them() -> None:
    """Units that are 0 for every row; 0 itself does not count as firing."""
    first, second, x = faint()
    yours = revive(first, second, x, dice())

    assert yours == [1, 4, 6], f"your code woke {yours}, expected [1, 4, 6]"
    again = revive(first, second, x, dice())
    assert again == [], f"in a second call no unit is dead, but your code revived {again}"


@four
def test_revived_units_fire() -> None:
    """Each fires for half of the rows; weights have the expected size, from the generator."""
    first, second, x = faint()
    revive(first, second, x, dice(7))
    fires = (first(x) > 0).sum(0)[[1, 4, 6]].tolist()

    assert fires == [10, 10, 10], f"of 20 rows units 1, 4, 6 fire for {fires}, expected 10 each"
    generator = dice(7)
    for unit in (1, 4, 6):
        expected = torch.randn(5, generator=generator, dtype=torch.float64) / 5**0.5
        close(first.weight[unit].detach(), expected, f"weights of unit {unit}")


@four
def test_revive_changes_no_output() -> None:
    """Nobody listens to a woken unit yet, but it gets a gradient; other units are as they were."""
    first, second, x = faint()
    before = second(first(x).relu()).detach()
    old = [first.weight.detach().clone(), first.bias.detach().clone()]
    revive(first, second, x, dice())
    after = second(first(x).relu())
    close(after.detach(), before, "the outputs, before and after")
    awake = [0, 2, 3, 5, 7]
    close(first.weight.detach()[awake], old[0][awake], "the weights of the other units")
    close(first.bias.detach()[awake], old[1][awake], "the biases of the other units")

    (after * numbers(20, 3)).sum().backward()
    assert second.weight.grad is not None, "the second layer has no gradient"
    heard = second.weight.grad[:, [1, 4, 6]].abs().amin().item()
    assert heard > 0, "a woken unit gets no gradient for its outgoing weights: does it fire?"


@cache
def clerk() -> nn.Module:
    """Return the network that was trained on records of the past."""
    torch.manual_seed(4)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
    return train(model, *records(300, 1, leaking=True), steps=60)


def by_definition(
    model: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    y: torch.Tensor,
    generator: torch.Generator,
) -> list[float]:
    """Return how much accuracy falls, column by column."""
    right, found = (model(x).argmax(1) == y).double().mean(), []
    for column in range(x.shape[1]):
        mixed = x.clone()
        mixed[:, column] = mixed[torch.randperm(len(x), generator=generator), column]
        found.append((right - (model(mixed).argmax(1) == y).double().mean()).item())
    return found


@five
def test_importance() -> None:
    """Each column gets the generator's next permutation; the rows do not change."""
    x, y = records(200, 2, leaking=True)
    with unchanged(clerk(), x=x, y=y):
        yours = importance(clerk(), x, y, dice(9))
    why = "what accuracy loses if this column alone is permuted"
    close(yours, by_definition(clerk(), x, y, dice(9)), why)
    assert max(range(6), key=yours.__getitem__) == 4, (
        f"column 4 contains the label, so it should be the most important; yours: {yours}"
    )


@five
def test_the_leak() -> None:
    """Column 4 gives the answer in the past, and nothing later; column 0 is important in both."""
    past, later = records(200, 2, leaking=True), records(200, 3, leaking=False)
    good, bad = accuracy(clerk(), *past), accuracy(clerk(), *later)
    yours = leak(clerk(), past, later, dice())

    assert yours == 4, (
        f"accuracy was {good:.2f} and is {bad:.2f}; your answer is column {yours}, but the label"
        " leaks into column 4"
    )


@five
def test_an_important_column_is_no_leak() -> None:
    """A model that reads columns 0 and 2, which matter later as before, and 4 a little."""
    weights = torch.tensor([[0.0] * 6, [1.0, 0.0, -0.7, 0.0, 0.4, 0.0]])

    class Fair(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ weights.t()

    past, later = records(400, 5, leaking=True), records(400, 6, leaking=False)
    before = importance(Fair(), *past, dice())
    yours = leak(Fair(), past, later, dice(1))

    assert before.index(max(before)) == 0, f"column 0 should be the most important; yours: {before}"
    assert yours == 4, f"your answer is column {yours}; only column 4's importance has fallen, to 0"


@pytest.mark.backend("captum")
def test_captum_looks_there_too() -> None:
    """Captum's integrated gradients of the patient are largest in the watermark."""
    x, y = bars(64, 4)
    method = captum("attr.IntegratedGradients", ill())
    base = x.mean(0, keepdim=True).expand_as(x)
    map_ = quietly(method.attribute, x, base, y, n_steps=20).abs().mean((0, 1))
    row, column = divmod(int(map_.argmax()), 8)

    assert hottest(ill(), x, y) == (row, column), f"Captum's hottest pixel is {(row, column)}"
