"""Helpers for the tests of lecture 25: numbers, and a comparison that shows wrong rows."""

from __future__ import annotations

import torch


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    """Return irrational numbers in float64."""
    dice = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=dice)


def close(yours: torch.Tensor, expected: torch.Tensor, what: str) -> None:
    """Compare shapes and dtypes, then numbers; show the rows that differ."""
    __tracebackhide__ = True
    kinds = [([*each.shape], each.dtype) for each in (yours, expected)]
    assert kinds[0] == kinds[1], f"{what}: yours has {kinds[0]}, expected {kinds[1]}"
    wrong = ~torch.isclose(yours, expected, rtol=0, atol=1e-12)
    rows = [n for n, each in enumerate(torch.atleast_1d(wrong)) if each.any()]
    both = [torch.atleast_1d(it.detach())[rows] for it in (yours, expected)]
    shown = [it.round(decimals=4).tolist() for it in both]
    assert not rows, (
        f"{what}: rows {rows} are wrong; yours {shown[0]}, expected {shown[1]}, at most"
        f" {(both[0] - both[1]).abs().max():.1e} apart"
    )
