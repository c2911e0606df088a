"""Tests of k11_sanity: ranks on paper, copies compared, and maps of a network trained here."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import nn

from katas.lecture17.conftest import close
from katas.lecture17.conftest import numbers
from katas.lecture17.conftest import train
from katas.lecture17.k11_sanity import cascade
from katas.lecture17.k11_sanity import rank_correlation
from plugins.kit import unchanged


def network() -> Any:
    """Return two convolutions and a head, seeded."""
    torch.manual_seed(6)
    return nn.Sequential(
        *(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(6 * 64, 2)),
    )


def pictures(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return images of 8 x 8 with a bar, vertical (class 1) or horizontal (class 0), and noise."""
    dice = torch.Generator().manual_seed(11)
    x = 0.3 * torch.randn(count, 1, 8, 8, generator=dice)
    y, place = torch.arange(count) % 2, torch.randint(0, 8, (count,), generator=dice)
    for image, standing, k in zip(x, y, place, strict=True):
        image[0, :, k] += standing
        image[0, k, :] += 1 - standing
    return x, y


@cache
def trained() -> nn.Module:
    """Return the network after some steps."""
    x, y = pictures(128)
    model = train(network(), x, y, steps=60)
    assert (model(x).argmax(1) == y).float().mean() > 0.95, "the test's network did not learn"
    return model


def saliency(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Return the magnitudes of the gradients of logit 1."""
    z = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(model(z)[:, 1].sum(), z)
    return slope.abs()


def edges(_model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Return a map that does not read the network."""
    return x.diff(dim=-1).abs()


def test_ranks_on_paper() -> None:
    """The same order is 1, the reverse -1; only the order matters."""
    a = torch.tensor([10.0, 40.0, 20.0, 30.0])
    for b, expected in (
        (a, 1.0),
        (-a, -1.0),
        (a**3, 1.0),
        (torch.tensor([10.0, 40.0, 30.0, 20.0]), 0.8),
        (torch.tensor([1.0, 1e9, 2.0, 3.0]), 1.0),
    ):
        close(rank_correlation(a, b), expected, f"{a.tolist()} and {b.tolist()}")


def test_equal_values_share_a_rank() -> None:
    """10, 20, 20, 30 have the ranks 1, 2.5, 2.5, 4."""
    a, b = torch.tensor([10.0, 20.0, 20.0, 30.0]), torch.tensor([1.0, 2.0, 3.0, 4.0])
    expected = 4.5 / (4.5 * 5) ** 0.5

    close(rank_correlation(a, b), expected, "ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4")
    close(rank_correlation(b, a), expected, "the same, with the maps exchanged")
    close(
        rank_correlation(torch.tensor([0.0, 0, 0, 7]), torch.tensor([0.0, 0, 0, 1])), 1.0, "zeros"
    )


def test_maps_of_any_shape() -> None:
    """Two maps of 5 x 7, against the definition."""
    a, b = numbers(5, 7), numbers(5, 7, seed=1) + numbers(5, 7)
    ranks = torch.stack([each.flatten().argsort().argsort().double() for each in (a, b)])

    with unchanged(a=a, b=b):
        yours = rank_correlation(a, b)
    assert isinstance(yours, float), f"yours is a {type(yours).__name__}, expected a float"
    close(yours, torch.corrcoef(ranks)[0, 1], "ranks without ties")


def test_a_constant_map() -> None:
    """A constant map has no order, so the correlation is 0, not NaN."""
    a = torch.arange(4.0)
    close(rank_correlation(a, torch.ones(4)), 0.0, "against a constant map")
    close(rank_correlation(torch.zeros(4), torch.ones(4)), 0.0, "two constant maps")


def test_from_the_last_layer_down() -> None:
    """Copy k has k random layers; what is not random yet is as trained."""
    model = network()
    found = cascade(model)
    names = [name for name, _ in found]

    assert names == ["5", "2", "0"], (
        f"your names are {names}, expected '5', '2', '0': the last layer first"
    )
    for count, (name, copied) in enumerate(found, 1):
        for layer in ("0", "2", "5"):
            same = torch.equal(copied.get_parameter(f"{layer}.weight"), model[int(layer)].weight)
            assert same is (layer not in names[:count]), (
                f"copy {name!r}: layer {layer!r} is {'as trained' if same else 'random'},"
                " expected the opposite"
            )


def test_random_stays_random() -> None:
    """A copy differs from the one before in only one layer; copies share no memory."""
    one, two, three = (copied for _, copied in cascade(network()))

    for layer, first, second in (("5", one, two), ("5", two, three), ("2", two, three)):
        weights = [each.get_parameter(f"{layer}.weight") for each in (first, second)]
        close(weights[0], weights[1], f"layer {layer!r}, of one copy and the next", 0)
        assert weights[0].data_ptr() != weights[1].data_ptr(), "two copies share a weight"


def test_layers_of_one_shape_differ() -> None:
    """Each layer draws its own values: the seed is set once."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    _, last = cascade(model)[-1]
    weights = [last.get_parameter(f"{layer}.weight") for layer in (0, 1)]

    assert not torch.equal(*weights), (
        "two layers of the same shape have the same random weights: is the seed set before each"
        " layer?"
    )


def test_layers_inside_modules() -> None:
    """A BatchNorm is a layer too; names are those of named_modules."""
    torch.manual_seed(0)
    block = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    model = nn.ModuleDict({"block": block, "act": nn.ReLU(), "head": nn.Linear(3, 2)})
    names = [name for name, _ in cascade(model)]

    assert names == ["head", "block.1", "block.0"], (
        f"your names are {names}, expected head, block.1, block.0"
    )


def test_the_seed_decides_and_nothing_stays() -> None:
    """The model and torch's random state are as before; other seeds give other weights."""
    model = network()

    def heads(*seed: int) -> list[torch.Tensor]:
        with unchanged(model):
            return [copied.get_parameter("5.weight") for _, copied in cascade(model, *seed)]

    first = heads(3)
    torch.manual_seed(123)
    for a, b in zip(first, heads(3), strict=True):
        close(a, b, "seed 3, twice", 0)
    assert not torch.equal(first[0], heads(4)[0]), "seeds 3 and 4 give the same weights"
    close(heads()[0], heads(0)[0], "without a seed: seed 0", 0)


def test_who_reads_the_network() -> None:
    """The gradient's map changes when the network forgets; a map of edges does not."""
    model, (x, _) = trained(), pictures(4)
    copies = cascade(model)
    for method, survives in ((saliency, False), (edges, True)):
        kept = [
            sum(map(rank_correlation, method(model, x), method(network, x))) / len(x)
            for _, network in copies
        ]
        assert survives is (kept[-1] > 0.6), (
            f"{method.__name__}: correlations {[round(each, 2) for each in kept]} with 1, 2 and 3"
            f" random layers; expected {'all 1' if survives else 'less than 0.6 at the end'}"
        )
