"""The plugin that keeps Python's garbage collector away from collection, and from what stays."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without the garbage collector, which would look at all of torch many times."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish() -> None:
    """Re-enable the garbage collector and freeze the collected objects, before ranks are forked."""
    gc.freeze()
    gc.enable()
