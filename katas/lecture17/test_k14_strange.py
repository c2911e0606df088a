"""Tests of k14_strange: rulers on paper, the definition, a classifier sure far from its data."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from katas.lecture17.conftest import close
from katas.lecture17.conftest import numbers
from katas.lecture17.conftest import train
from katas.lecture17.k14_strange import distances
from katas.lecture17.k14_strange import fit
from katas.lecture17.k14_strange import threshold
from plugins.kit import unchanged


LABELS = torch.arange(30) % 3
# Classes of 10 rows each, spread differently in each direction.
FEATURES = numbers(30, 4) @ numbers(4, 4, seed=1) + 3 * numbers(3, 4, seed=2)[LABELS]


def matrix(*rows: list[float]) -> torch.Tensor:
    """Return a float64 tensor."""
    return torch.tensor(rows, dtype=torch.float64)


def test_one_class_on_a_line() -> None:
    """The features -2 and 2 have the mean 0 and the variance 4: 6 is three deviations away."""
    means, factor = fit(matrix([-2.0], [2.0]), torch.tensor([0, 0]))

    close(means, [[0.0]], "the mean of -2 and 2")
    close(factor, [[2.0]], "the factor of a variance of 4: over all rows, not all but one")
    close(distances(matrix([6.0], [-1.0], [0.0]), means, factor), [3.0, 0.5, 0.0], "of 6, -1, 0")


def test_what_is_left_of_two_classes() -> None:
    """The distance between classes does not add to the covariance."""
    features = matrix([9.0], [11.0], [-11.0], [-9.0])
    means, factor = fit(features, torch.tensor([1, 1, 0, 0]))

    close(means, [[-10.0], [10.0]], "the means of classes 0 and 1")
    close(factor, [[1.0]], "within each class the variance is 1")
    yours = distances(matrix([0.0], [12.0], [-10.5]), means, factor)
    close(yours, [10.0, 2.0, 0.5], "of 0, 12, -10.5: to the nearest class")


def test_directions_differ() -> None:
    """Data along the diagonal: a point on it is near, one off it is far."""
    features = matrix([3.0, 3.0], [-3.0, -3.0], [0.5, -0.5], [-0.5, 0.5])
    means, factor = fit(features, torch.zeros(4, dtype=torch.long))
    yours = distances(matrix([2.0, 2.0], [2.0, -2.0]), means, factor)

    close(yours, [8**0.5 / 3, 8**0.5 / 0.5], "(2, 2) and (2, -2), as far from the mean by a ruler")


def test_the_definition() -> None:
    """Compare with an inverse, row by row."""
    means, factor = fit(FEATURES, LABELS)
    left = torch.cat([FEATURES[LABELS == c] - FEATURES[LABELS == c].mean(0) for c in range(3)])
    cov = left.t() @ left / 30
    close(factor @ factor.t(), cov, "factor @ factor.T is the covariance")
    close(factor.triu(1), torch.zeros(4, 4), "the factor is lower triangular")
    x = 2 * numbers(7, 4, seed=3)
    away = x[:, None] - torch.stack([FEATURES[LABELS == c].mean(0) for c in range(3)])
    expected = torch.einsum("rci,ij,rcj->rc", away, cov.inverse(), away).sqrt().amin(1)

    with unchanged(x=x, features=FEATURES):
        yours = distances(x, means, factor)
    close(yours, expected, "the distances of seven rows", 1e-9)


def test_other_units() -> None:
    """With rotated, stretched and shifted features the distances are the same."""
    turn, move = numbers(4, 4, seed=4) + 2 * torch.eye(4).double(), numbers(1, 4, seed=5)
    x = numbers(6, 4, seed=6)
    first = distances(x, *fit(FEATURES, LABELS))
    second = distances(x @ turn + move, *fit(FEATURES @ turn + move, LABELS))

    close(second, first, "distances of x, and of x in other units", 1e-8)


def test_a_unit_that_never_fires() -> None:
    """Without a ridge there is no factor; with one, any other value there is very strange."""
    dead = FEATURES.clone()
    dead[:, 2] = 0.0
    means, factor = fit(dead, LABELS, ridge=1e-6)
    x = dead[:2].clone()
    x[1, 2] = 1.0
    near, far = distances(x, means, factor).tolist()

    assert near < 10, f"a row of the data is {near:.3g} away, expected less than 10"
    assert 900 < far < 1100, (
        f"a row with 1.0 in a unit that was always 0 is {far:.3g} away, expected about 1000"
    )


def test_threshold() -> None:
    """The threshold is a distance from the sample: with rate 0, the largest."""
    familiar = torch.tensor([5.0, 1.0, 4.0, 2.0, 3.0]).double()
    for rate, expected in ((0.0, 5.0), (0.19, 5.0), (0.2, 4.0), (0.4, 3.0), (1.0, 1.0)):
        yours = threshold(familiar, rate)
        assert yours == expected, f"1 to 5, rate {rate}: yours {yours}, expected {expected}"
    yours = threshold(torch.arange(1.0, 101.0).double(), 0.29)
    assert yours == 71.0, (
        f"1 to 100, rate 0.29: yours {yours}; expected 71, which 29 of 100 exceed. (int(0.29 * 100)"
        " is 28: compute what fraction exceeds each distance)"
    )
    ties = torch.tensor([1.0, 7.0, 7.0, 7.0])
    assert threshold(ties, 0.5) == 7.0, (
        f"1, 7, 7, 7, rate 0.5: yours {threshold(ties, 0.5)}, expected 7"
    )


def test_a_classifier_is_sure_far_away() -> None:
    """A small network, trained here: its confidence grows with the distance, and so must yours."""
    torch.manual_seed(1)
    x, y = FEATURES.float(), LABELS
    body = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
    train(body, x, y, steps=60)
    far = 50 * numbers(20, 4, seed=9).float()
    with torch.no_grad():
        sure = body(far).softmax(1).amax(1).double().median().item()
    means, factor = fit(FEATURES, LABELS)
    familiar = distances(FEATURES, means, factor)
    limit = threshold(familiar, 0.05)
    strange = distances(far.double(), means, factor)

    assert sure > 0.9, f"the test's network has confidence {sure:.2f} far from the data"
    assert (strange > limit).all(), (
        f"of 20 rows far from the data, {(strange > limit).sum()} are beyond your limit of"
        f" {limit:.2f}; the network's median confidence in them is {sure:.3f}"
    )
    assert (familiar > limit).double().mean() <= 0.05, "more than 5 % of the data is strange"


@pytest.mark.parametrize("rows", [1, 5])
def test_any_number_of_rows(rows: int) -> None:
    """A single row or a single class keeps its dim."""
    means, factor = fit(FEATURES, torch.zeros(30, dtype=torch.long))
    normal = torch.distributions.MultivariateNormal(means[0], scale_tril=factor)
    x = numbers(rows, 4, seed=7)
    # The density falls with half of the square of the distance.
    expected = (2 * (normal.log_prob(means) - normal.log_prob(x))).sqrt()

    close(distances(x, means, factor), expected, "from PyTorch's MultivariateNormal", 1e-9)
