"""Skips a kata that needs another version of torch than the installed one, and says why.

Its table in ``lecture.toml`` has ``torch = ">=2.13"`` and ``torch_because = "..."``. The exercise
and its tests must still be importable with every version.
"""

from __future__ import annotations

import importlib.metadata
from functools import partial
from typing import TYPE_CHECKING

import pytest

from plugins.course.session import kata_of
from plugins.machine.absent import require
from plugins.tools.capability import Capability
from plugins.tools.terminal import install_command


if TYPE_CHECKING:
    from plugins.course.model import TorchNeed


def explain_mismatch(need: TorchNeed, installed: str) -> str | None:
    """Return why a kata cannot use the version `installed` and how to get another, or None."""
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 - few katas need it

    # A nightly build of 2.16 comes before 2.16.0: without `prereleases` it would meet no need.
    if SpecifierSet(need.versions).contains(installed, prereleases=True):
        return None
    how = install_command(f"'torch{need.versions}'")
    return f"this needs torch{need.versions}, but {installed} is installed: {need.because}; {how}"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip before any fixture is set up, as for a backend that is missing."""
    kata = kata_of(item)
    if kata is None or kata.torch is None:
        return
    # From its metadata: importing torch takes a second.
    installed = importlib.metadata.version("torch")
    require(item, [Capability("torch", partial(explain_mismatch, kata.torch, installed))])
