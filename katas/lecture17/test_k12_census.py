"""Tests of k12_census: units whose firing is set by hand, and a network with too large a rate."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch import nn

from katas.lecture17.conftest import close
from katas.lecture17.conftest import descend
from katas.lecture17.conftest import numbers
from katas.lecture17.k12_census import Census
from plugins.kit import unchanged


class Shown(nn.Module):
    """Passes its input to one ReLU."""

    def __init__(self) -> None:
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the ReLU's output."""
        y: torch.Tensor = self.act(x)
        return y


def fired(*batches: torch.Tensor) -> tuple[list[int], int]:
    """Return a census's counts for these inputs."""
    model = Shown()
    with Census(model) as census:
        for batch in batches:
            model(batch)
    return census.fired["act"].tolist(), census.seen["act"]


def test_columns() -> None:
    """Three rows, three units: above 0 counts, and 0 does not."""
    x = torch.tensor([[1.0, -1.0, 0.0], [2.0, -2.0, 0.0], [-1.0, -3.0, 5.0]])
    yours = fired(x)

    assert yours == ([2, 0, 1], 3), f"your census counts {yours}, expected [2, 0, 1] of 3 rows"


def test_channels() -> None:
    """For images, a unit is a channel, and each position of each image is a case."""
    x = -torch.ones(2, 3, 4, 5)
    x[0, 1] = 1.0
    x[1, 2, 3, 4] = 1.0
    yours = fired(x)

    assert yours == ([0, 20, 1], 40), (
        f"your census counts {yours}, expected [0, 20, 1] of 2 * 4 * 5"
    )


def test_over_all_batches() -> None:
    """A unit that fires only in the last batch is not dead."""
    x = -torch.ones(4, 3)
    early, late = torch.tensor([[7.0, -1.0, -1.0]]), torch.tensor([[-1.0, 7.0, -1.0]])
    yours = fired(early, x, late)

    assert yours == ([1, 1, 0], 6), (
        f"your census counts {yours}, expected [1, 1, 0] of 1 + 4 + 1 rows"
    )


def test_dead_units() -> None:
    """Dead units are listed by index."""
    model = Shown()
    with Census(model) as census:
        model(torch.tensor([[-1.0, 1.0, -1.0, -1.0], [-1.0, 1.0, 1.0, -1.0]]))

    assert census.dead("act") == [0, 3], f"yours {census.dead('act')}, expected [0, 3]"


def test_the_table() -> None:
    """Rare means less than 1 in 100, but more than none; a layer that did not run has no line."""

    class Body(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.idle, self.second, self.first = nn.ReLU(), nn.ReLU(), nn.ReLU()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.second(self.first(x)[:, 1:] - 1)
            return y

    x = -torch.ones(400, 4)
    x[:3, 1] = 1.0
    x[:4, 2] = 2.0
    x[:, 3] = 3.0
    model = Body()
    with Census(model) as census:
        model(x[:100])
        model(x[100:])
    assert_expected_inline(
        census.report(),
        """\
layer     units  dead  rare  firing
first         4     1     1   0.254
second        3     1     0   0.337""",
    )


def test_hooks_are_gone() -> None:
    """Hooks are removed after the with, even if the model raised in it; the error propagates."""
    model, x = Shown(), numbers(3, 4)
    with Census(model) as census:
        model(x)
    model(x)
    assert census.seen["act"] == 3, (
        f"3 rows in the with and 3 after it: your census saw {census.seen['act']}, expected 3"
    )
    with pytest.raises(ValueError, match="inside"), Census(model) as census:
        raise ValueError("inside")
    model(x)
    assert not census.seen, "the body of the with raised, but its hook is still there"


def test_the_model_is_only_watched() -> None:
    """The output is the same, backward works, and no graph is kept."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(inplace=True), nn.Linear(5, 1)).double()
    x = numbers(6, 4)
    expected = model(x)
    with unchanged(model, x=x), Census(model) as census:
        yours = model(x)
    close(yours.detach(), expected.detach(), "the model's output while it is counted")
    assert yours.requires_grad, "the output no longer has a graph: the hook must return None"
    assert not census.fired["1"].requires_grad, "the counts have a graph"


def test_a_dead_unit_has_no_gradient() -> None:
    """After steps with too large a rate, the weights of dead units get no gradient."""
    torch.manual_seed(2)
    model: Any = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1)).double()
    x = numbers(64, 4)
    y = x.prod(1, keepdim=True)
    for _ in range(6):
        descend(nn.functional.mse_loss(model(x), y), model, 0.5)
    with Census(model) as census:
        nn.functional.mse_loss(model(x), y).backward()
    weight = model[0].weight
    assert weight.grad is not None
    still = [unit for unit, grad in enumerate(weight.grad) if not grad.any()]

    assert still, "the test's network has no dead unit"
    assert census.dead("1") == still, (
        f"your census says that units {census.dead('1')} are dead; the units without a gradient are"
        f" {still}"
    )
