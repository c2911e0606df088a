"""A plugin of pytest that leaves one test of each kata, for commands that are shown in a README.

That a command works is seen from one test as well as from all; the solutions pass all of them
elsewhere. In a job of several ranks only a test with the fixture `world` shows that they meet, so
such a test is preferred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect all but the first test of each module that uses `world`, or the very first."""
    modules = dict.fromkeys(item.path for item in items)
    chosen = [
        min(
            (item for item in items if item.path == module),
            key=lambda item: "world" not in getattr(item, "fixturenames", ()),
        )
        for module in modules
    ]
    leave(config, items, chosen)


def leave(config: pytest.Config, items: list[pytest.Item], chosen: list[pytest.Item]) -> None:
    """Deselect all tests but the chosen ones."""
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen
