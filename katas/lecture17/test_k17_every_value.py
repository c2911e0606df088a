"""Tests of k17_every_value: forwards with functions and operators that no hook sees."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from katas.lecture17.conftest import close
from katas.lecture17.conftest import numbers
from katas.lecture17.k17_every_value import Tap
from katas.lecture17.k17_every_value import silent
from plugins.kit import unchanged


X = numbers(5, 3)


class Model(nn.Module):
    """A layer, a function and an operator; the function may write in place."""

    def __init__(self, *, inplace: bool = False) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.first = nn.Linear(3, 3).double()
        self.inplace = inplace

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the brief's picture computes."""
        return functional.relu(self.first(x), inplace=self.inplace) + x


class Shapes(nn.Module):
    """Reads a size, writes to a view, and returns two tensors."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return x times 3, and the sums of its rows, divided by the number of rows."""
        y = x * 1
        flat = y.view(-1)
        flat.mul_(3)
        return y, x.sum(1) / x.shape[0]


def values(model: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the outputs of the layer and of the ReLU for X."""
    first = (X @ model.first.weight.t() + model.first.bias).detach()
    return first, first.clamp(min=0)


def test_every_node_is_seen() -> None:
    """The input, a layer, a function, an operator and the output, in order."""
    model, names = Model(), ["x", "first", "relu", "add", "output"]
    tap = Tap(model)
    score = tap.run(X)
    first, bent = values(model)

    assert list(tap.seen) == names, f"your tap saw {list(tap.seen)}, expected {names}"
    for name, expected in zip(names, (X, first, bent, bent + X, bent + X), strict=True):
        close(tap.seen[name], expected, f"the value of node {name!r}")
    close(score.detach(), bent + X, "what run returns")


def test_a_function_that_writes_in_place() -> None:
    """The layer's record stays as it was before F.relu overwrote the layer's output."""
    model = Model(inplace=True)
    tap = Tap(model)
    with unchanged(model, x=X), torch.no_grad():
        tap.run(X)

    close(tap.seen["first"], values(model)[0], "the layer, before F.relu(..., inplace=True)")


def test_no_graph_is_kept() -> None:
    """The records have no graph; the result has its own, and backward works."""
    model = Model()
    tap = Tap(model)
    tap.run(X).sum().backward()

    kept = [name for name, value in tap.seen.items() if value.requires_grad]
    assert not kept, f"the records of {kept} have a graph, which keeps the whole forward"
    assert model.first.weight.grad is not None, "the result of run has no graph"


def test_a_value_is_replaced() -> None:
    """Later nodes read the value from `put`, which stays as it is, for functions too."""
    model, value = Model(inplace=True), numbers(5, 3, seed=2)
    put = value.clone()
    with unchanged(value=value), torch.no_grad():
        tap = Tap(model, {"first": value})
        close(tap.run(X), value.clamp(min=0) + X, "the result, with another value for 'first'")
        close(value, put, "what was put: a later node wrote to it, so hand on a copy")
        close(tap.seen["first"], put, "'first', which was put")
        tap = Tap(model, {"relu": value})
        close(tap.run(X), value + X, "the result, with another value for 'relu', a function")


def test_sizes_and_views() -> None:
    """A size is not a tensor, and a write through a view reaches its base."""
    tap = Tap(Shapes())
    yours = tap.run(X)

    close(yours[0], 3 * X, "y, to which a view of it has written: return the value itself")
    close(yours[1], X.sum(1) / 5, "sums, divided by a size")
    others = [name for name, value in tap.seen.items() if not isinstance(value, torch.Tensor)]
    assert not others, f"`seen` contains {others}, which are not tensors"


def test_silent_columns() -> None:
    """F.relu is not a module, but its dead columns are found; nodes without any are left out."""
    model = Model()
    with torch.no_grad():
        model.first.bias[[0, 2]] = -90.0
    x = X.clone()
    with unchanged(model, x=x):
        yours = silent(model, x)

    assert yours == {"relu": 2}, (
        f"columns 0 and 2 of F.relu are 0 in every row, expected {{'relu': 2}}; yours: {yours}"
    )
    x[:, 1] = 0.0
    x[0, 0] = 0.0
    yours = silent(model, x)
    assert yours == {"x": 1, "relu": 2}, (
        f"expected column 1 of x as well, but not column 0; yours: {yours}"
    )


def test_patches_of_a_product() -> None:
    """k10's question, asked of operators: clean 2 * 3, corrupted -1 * -1."""

    class Product(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x[0] + 0) * (x[1] - 0)

    clean, corrupted = torch.tensor([2.0, 3.0]).double(), torch.tensor([-1.0, -1.0]).double()
    tap = Tap(Product())
    best, there = tap.run(clean), tap.seen
    worst = Tap(Product()).run(corrupted)
    for name, expected in (("add", -0.6), ("sub", -0.8), ("mul", 1.0)):
        score = Tap(Product(), {name: there[name]}).run(corrupted)
        close((score - worst) / (best - worst), expected, f"what a patch of {name!r} restores")
