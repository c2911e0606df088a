"""Ignore a warning from PyTorch itself, which a learner cannot act on."""

from __future__ import annotations

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    """Ignore that forward mode scripts its decompositions (torch/_decomp)."""
    ignored = "ignore:`torch.jit.script` is deprecated:DeprecationWarning"
    item.add_marker(pytest.mark.filterwarnings(ignored))
