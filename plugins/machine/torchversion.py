"""Skips a kata that is for other versions of torch than the installed one, and says why.

The table in ``lecture.toml`` says so: ``torch = ">=2.13"`` and ``torch_because = "..."``. The
exercise and its tests must be importable with every version all the same.
"""

from __future__ import annotations

import importlib.metadata
from functools import partial
from typing import TYPE_CHECKING

import pytest

from plugins.absent import require
from plugins.capability import Capability
from plugins.course import kata_of


if TYPE_CHECKING:
    from plugins.layout import TorchNeed


def unmet(need: TorchNeed, installed: str) -> str | None:
    """Return why a kata is not for the version `installed`, and how to get one that will do."""
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 - few katas need it

    # A nightly build of 2.16 is no 2.15, and comes before 2.16.0; whoever tries one wants it tried.
    if SpecifierSet(need.versions).contains(installed, prereleases=True):
        return None
    return (
        f"this is for torch{need.versions}, here is {installed}: {need.because};"
        f" python -m pip install 'torch{need.versions}'"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip before any fixture is set up, as for a backend that is missing."""
    kata = kata_of(item)
    if kata is None or kata.torch is None:
        return
    # Its metadata: importing torch takes a second.
    installed = importlib.metadata.version("torch")
    require(item, [Capability("torch", partial(unmet, kata.torch, installed))])
