"""Tests of k10_patch: chains, sums and products, for which the effect of a patch is known."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from katas.lecture17.conftest import close
from katas.lecture17.conftest import numbers
from katas.lecture17.k10_patch import estimated
from katas.lecture17.k10_patch import restored
from katas.lecture17.k10_patch import run
from plugins.kit import unchanged


CLEAN, CORRUPTED = numbers(2, 3), numbers(2, 3, seed=1)


class Score(nn.Module):
    """Two layers, and a score of their outputs: "chain", "sum" or "product"."""

    def __init__(self, kind: str, *, inplace: bool = False) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.kind, self.forwards, self.graphs = kind, 0, 0
        self.a, self.b = nn.Linear(3, 3).double(), nn.Linear(3, 3).double()
        self.relu = nn.ReLU(inplace=inplace)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a scalar."""
        self.forwards += 1
        self.graphs += torch.is_grad_enabled()
        a = self.a(x)
        if self.kind == "chain":
            return torch.sum(self.b(self.relu(a)).tanh())
        b = self.b(x)
        return torch.sum(a + b if self.kind == "sum" else a * b)

    @property
    def layers(self) -> dict[str, nn.Module]:
        """The layers to patch."""
        return {"a": self.a, "b": self.b}


class Numbers(nn.Module):
    """The product of two numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Identity(), nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return one product."""
        y: torch.Tensor = self.first(x[0]) * self.second(x[1])
        return y


def test_run_records() -> None:
    """The outputs of the layers, as they were when the layers returned."""
    for inplace in (False, True):
        model = Score("chain", inplace=inplace)
        score, seen = run(model, model.layers, CLEAN)
        a = CLEAN @ model.a.weight.t() + model.a.bias
        b = a.relu() @ model.b.weight.t() + model.b.bias

        assert list(seen) == ["a", "b"], f"your code recorded {list(seen)}, expected a and b"
        close(seen["a"].detach(), a.detach(), f"a, before nn.ReLU(inplace={inplace})")
        close(seen["b"].detach(), b.detach(), f"b, after nn.ReLU(inplace={inplace})")
        close(score.detach(), b.tanh().sum().detach(), "the score")


def test_run_replaces() -> None:
    """A later layer sees the value from `put`, which stays as it is."""
    model, value = Score("chain", inplace=True), numbers(2, 3, seed=2)
    with unchanged(model, value=value), torch.no_grad():
        score, seen = run(model, model.layers, CLEAN, {"a": value})
    expected = value.relu() @ model.b.weight.t() + model.b.bias

    close(seen["a"], value, "a, which was put")
    close(seen["b"], expected.detach(), "b, of the value that was put for a")
    close(score, expected.tanh().sum().detach(), "the score")


def test_a_product_of_two() -> None:
    """Clean 2 * 3, corrupted -1 * -1: each patch alone makes it worse, and both restore it."""
    model = Numbers()
    layers = {"first": model.first, "second": model.second}
    clean, corrupted = torch.tensor([2.0, 3.0]).double(), torch.tensor([-1.0, -1.0]).double()
    for way in (restored, estimated):
        yours = way(model, layers, clean, corrupted)
        assert list(yours) == ["first", "second"], (
            f"your result has {list(yours)}, expected first and second"
        )
        close(
            [*yours.values()], [-0.6, -0.8], f"{way.__name__}: (2 * -1 - 1) / 5, (-1 * 3 - 1) / 5"
        )


def test_a_chain_restores_all() -> None:
    """The only path goes through each layer; to first order the number differs."""
    model = Score("chain")
    yours = restored(model, model.layers, CLEAN, CORRUPTED)

    close([*yours.values()], [1.0, 1.0], "restored, in a chain")


def test_a_sum_is_shared() -> None:
    """Additivity: the shares of two layers sum to 1, and the first order is exact."""
    model = Score("sum")
    yours = [way(model, model.layers, CLEAN, CORRUPTED) for way in (restored, estimated)]
    with torch.no_grad():
        parts = [(layer(CLEAN) - layer(CORRUPTED)).sum() for layer in (model.a, model.b)]
    expected = torch.stack(parts) / sum(parts)

    close([*yours[0].values()], expected, "restored, of a sum")
    close([*yours[1].values()], expected, "estimated, of a sum")


@pytest.mark.parametrize("inplace", [False, True])
def test_the_estimate_is_a_gradient(*, inplace: bool) -> None:
    """Compare with gradients at the corrupted run, of halves of the network without hooks."""
    model = Score("chain", inplace=inplace)
    yours = estimated(model, model.layers, CLEAN, CORRUPTED)
    a, clean_a = model.a(CORRUPTED).detach().requires_grad_(), model.a(CLEAN).detach()
    b = model.b(a.relu())
    score = b.tanh().sum()
    slopes = torch.autograd.grad(score, [a, b])
    clean_b = model.b(clean_a.relu()).detach()
    gap = clean_b.tanh().sum() - score.detach()
    moved = [((clean_a - a) * slopes[0]).sum() / gap, ((clean_b - b) * slopes[1]).sum() / gap]

    close([*yours.values()], torch.stack(moved).detach(), f"estimated, nn.ReLU(inplace={inplace})")


def test_forwards_are_counted() -> None:
    """Restored takes one for each layer and two more; estimated takes two, however many layers."""
    model = Score("product")
    restored(model, model.layers, CLEAN, CORRUPTED)
    assert not model.graphs, f"{model.graphs} forwards of `restored` record a graph, expected none"
    first, model.forwards = model.forwards, 0
    estimated(model, model.layers, CLEAN, CORRUPTED)

    assert (first, model.forwards) == (4, 2), (
        f"forwards: restored {first}, estimated {model.forwards}; expected 4 (2 layers) and 2"
    )


def test_nothing_stays() -> None:
    """A frozen model, under torch.no_grad(): no .grad, and no hook, not even after an error."""
    model = Score("chain").requires_grad_(requires_grad=False)
    with unchanged(model, clean=CLEAN, corrupted=CORRUPTED), torch.no_grad():
        estimated(model, model.layers, CLEAN, CORRUPTED)
        restored(model, model.layers, CLEAN, CORRUPTED)
    value = torch.zeros(2, 3).double()
    with pytest.raises(RuntimeError, match="shape"):
        run(model, model.layers, CLEAN[:, :2], {"a": value})
    close(model.a(CLEAN), CLEAN @ model.a.weight.t() + model.a.bias, "a, after an error in run")
