"""Parts of all tests: what a plugin such as ``-p tests.tools_only`` leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


def keep(
    config: pytest.Config, items: list[pytest.Item], belongs: Callable[[pytest.Item], bool]
) -> None:
    """Leave those of the collected tests in `items` that belong to the part, in their order."""
    config.hook.pytest_deselected(items=[item for item in items if not belongs(item)])
    items[:] = [item for item in items if belongs(item)]
