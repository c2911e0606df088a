"""Tests of k29_dropout: masks by key, and what is left alone."""

from __future__ import annotations

import torch

from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k29_dropout import dropout
from plugins.kit import unchanged


def masked(rows: torch.Tensor, p: float, keys: torch.Tensor) -> torch.Tensor:
    """Return what the docstring says."""
    masks = [
        torch.rand(rows.size(1), dtype=torch.float64, generator=torch.Generator().manual_seed(key))
        for key in keys.tolist()
    ]
    drawn = torch.stack([torch.zeros(rows.size(1)).double(), *masks])[1:]
    return torch.where(drawn < p, torch.zeros_like(rows), rows / (1 - p))


def test_a_mask_belongs_to_its_key() -> None:
    """A mask depends on neither the row's position nor earlier draws; no other generator moves."""
    x = torch.randn(5, 40).double()
    keys = torch.tensor([7, 3, 7, 2**40, 0])
    with unchanged(x=x, keys=keys):
        found = dropout(x, 0.3, keys)

    close(found, masked(x, 0.3, keys), "dropped by these five keys")
    close(dropout(x[1:4], 0.3, keys[1:4]), found[1:4], "rows 1 to 3 alone, with their keys")
    close(dropout(x, 0.0, keys), x, "nothing is dropped where p is 0")
    # A drawn number is not below itself, so it is kept.
    p = torch.rand(40, dtype=torch.float64, generator=torch.Generator().manual_seed(7))[2].item()
    close(dropout(x[:1], p, keys[:1]), masked(x[:1], p, keys[:1]), "p is the third number drawn")
    shape = tuple(dropout(x[:0], 0.3, keys[:0]).shape)
    same(shape, (0, 40), "a rank may have no row: the shape")


def test_what_is_dropped_is_zero_whatever_it_was() -> None:
    """Zero times inf or NaN is NaN: a mask selects, and does not multiply."""
    keys = torch.tensor([7, 3])
    dropped = masked(torch.ones(2, 40).double(), 0.3, keys) == 0
    for value in (float("inf"), float("nan")):
        found = dropout(torch.full((2, 40), value, dtype=torch.float64), 0.3, keys)
        close(found[dropped], torch.zeros(int(dropped.sum())).double(), f"dropped {value}s")


def test_what_is_dropped_has_no_gradient() -> None:
    """An element that is kept has the gradient 1 / (1 - p)."""
    x = torch.ones(3, 20, dtype=torch.float64, requires_grad=True)
    result = dropout(x, 0.6, torch.tensor([1, 2, 3]))
    result.sum().backward()

    close(x.grad, result.detach(), "the gradient of the sum, of ones that are dropped or scaled")
