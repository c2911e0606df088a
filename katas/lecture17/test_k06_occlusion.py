"""Tests of k06_occlusion: models with known drops, calls counted, and Captum if installed."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture17.conftest import captum
from katas.lecture17.conftest import close
from katas.lecture17.conftest import numbers
from katas.lecture17.conftest import quietly
from katas.lecture17.k06_occlusion import occlusion
from katas.lecture17.k06_occlusion import starts
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


X = numbers(2, 5, 7)
W = numbers(3, 2, 5, 7, seed=1)


def linear(images: torch.Tensor) -> torch.Tensor:
    """Return three logits: sums of weighted pixels."""
    return torch.einsum("rchw,kchw->rk", images, W)


def bent() -> nn.Sequential:
    """Return a small convolutional network in float64."""
    torch.manual_seed(7)
    conv = nn.Conv2d(2, 3, 3)
    return nn.Sequential(conv, nn.ReLU(), nn.Flatten(), nn.Linear(45, 3)).double()


def one_by_one(
    f: Callable[[torch.Tensor], torch.Tensor],
    target: int,
    window: tuple[int, int],
    stride: tuple[int, int],
    baseline: float,
) -> torch.Tensor:
    """Return the map by its definition, a forward for each window."""
    total, count = torch.zeros(5, 7).double(), torch.zeros(5, 7).double()
    whole = f(X[None])[0, target].detach()
    top = 0
    while True:
        left = 0
        while True:
            place = (slice(top, top + window[0]), slice(left, left + window[1]))
            hidden = X.clone()
            hidden[:, place[0], place[1]] = baseline
            total[place] += whole - f(hidden[None])[0, target].detach()
            count[place] += 1
            if left + window[1] >= 7:
                break
            left += stride[1]
        if top + window[0] >= 5:
            break
        top += stride[0]
    return total / count


@pytest.mark.parametrize(
    ("size", "window", "stride", "expected"),
    [
        *[(4, 2, 2, [0, 2]), (5, 2, 2, [0, 2, 4]), (7, 3, 2, [0, 2, 4]), (8, 3, 2, [0, 2, 4, 6])],
        *[(5, 5, 1, [0]), (3, 5, 2, [0]), (4, 1, 1, [0, 1, 2, 3]), (6, 4, 3, [0, 3])],
    ],
)
def test_starts(size: int, window: int, stride: int, expected: list[int]) -> None:
    """Windows cover everything, and the last may overhang."""
    yours = list(starts(size, window, stride))
    assert yours == expected, (
        f"size {size}, window {window}, stride {stride}: yours {yours}, expected {expected}"
    )


def test_pixels_of_a_linear_model() -> None:
    """Windows of one pixel: the drop is weight times (x - baseline), summed over channels."""
    yours = occlusion(linear, X, 1, window=(1, 1), stride=(1, 1), baseline=0.5)

    close(yours, (W[1] * (X - 0.5)).sum(0), "a linear model, one pixel at a time")


def test_completeness_of_a_linear_model() -> None:
    """Windows side by side: divided by its pixels, each window's drop counts once in the sum."""
    yours = occlusion(linear, X, 2, window=(5, 1), stride=(5, 1))
    expected = linear(X[None])[0, 2] - linear(torch.zeros_like(X)[None])[0, 2]

    close(yours.sum() / 5, expected, "columns of 5 pixels: sum / 5 is f(x) - f(baseline)")


@pytest.mark.parametrize(
    ("window", "stride"), [((2, 3), (2, 3)), ((3, 4), (2, 1)), ((2, 2), (1, 2)), ((9, 2), (1, 1))]
)
def test_overlaps_are_averaged(window: tuple[int, int], stride: tuple[int, int]) -> None:
    """Each pixel gets the mean drop of the windows that cover it, at the border too."""
    f = bent()
    yours = occlusion(f, X, 0, window=window, stride=stride, baseline=-0.25)
    expected = one_by_one(f, 0, window, stride, -0.25)

    close(yours, expected, f"window {window}, stride {stride}")


def test_calls_are_few() -> None:
    """The image and 35 windows: 36 rows, ten at a time."""
    f, batches = bent(), []

    def counted(images: torch.Tensor) -> Any:
        batches.append(len(images))
        return f(images)

    for rows, expected in ((10, [10, 10, 10, 6]), (36, [36]), (100, [36]), (1, [1] * 36)):
        batches.clear()
        yours = occlusion(counted, X, 0, window=(1, 1), stride=(1, 1), rows=rows)
        assert batches == expected, (
            f"rows={rows}: your calls have {batches[:8]}... rows ({sum(batches)} in"
            f" {len(batches)} calls), expected {expected[:8]} in {len(expected)}: 35 windows and"
            " the image itself"
        )
        close(yours, one_by_one(f, 0, (1, 1), (1, 1), 0.0), f"with rows={rows}")
    batches.clear()
    occlusion(counted, X, 0, window=(1, 1), stride=(1, 1))
    assert batches == [32, 4], f"by default your calls have {batches} rows, expected [32, 4]"


def test_nothing_stays() -> None:
    """Neither the image nor the model is changed, and there is no graph."""
    f = bent()
    with unchanged(f, x=X):
        yours = occlusion(f, X, 0, window=(2, 2), stride=(1, 1))

    assert not yours.requires_grad, "your map has a graph, but forwards are enough"


@pytest.mark.backend("captum")
def test_captum_agrees() -> None:
    """Captum's Occlusion computes in float32; a call for each window, unless asked."""
    f = bent()
    method = captum("attr.Occlusion", f)
    for window, stride in (((2, 3), (2, 3)), ((3, 4), (2, 1)), ((2, 2), (1, 2))):
        expected = quietly(
            method.attribute,
            X[None],
            (2, *window),
            strides=(2, *stride),
            baselines=-0.25,
            target=1,
        )[0, 0]
        yours = occlusion(f, X, 1, window=window, stride=stride, baseline=-0.25)
        close(yours, expected, f"Captum's, window {window}, stride {stride}", 1e-6)
