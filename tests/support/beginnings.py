"""A plugin of pytest that leaves the first two tests of each kata that an untouched stub fails.

What a terminal shows of a kata is its first failing test, and one line for all that wait behind
it: two tests show as much as forty.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tests.support.firsts import leave


if TYPE_CHECKING:
    from pathlib import Path

    import pytest


SHOWN = 2


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the others; tests of what is given pass."""
    chosen: defaultdict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if not item.get_closest_marker("given") and len(chosen[item.path]) < SHOWN:
            chosen[item.path].append(item)
    leave(config, items, [item for found in chosen.values() for item in found])
