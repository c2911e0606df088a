"""Keeps what PyTorch's own modules warn of from the learner, who cannot change them.

The settings in pyproject.toml leave these warnings out, but what the command line says counts more:
with ``-W error`` a kata that imports such a module could not be imported.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from collections.abc import Generator


# The beginning of each message, as a regular expression, and its category: of modules such as
# torch/utils/mkldnn.py, which are scripted, and of torch.distributed.rpc, which is not new either.
MESSAGES: dict[str, type[Warning]] = {
    ".torch.jit.script_method. is deprecated": DeprecationWarning,
    "You are using a Backend <class 'torch.distributed": UserWarning,
}


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave them out where modules are imported, within the filters that pytest has set."""
    ignore_deprecations()
    return (yield)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Leave them out where a test runs, and in its ranks; pytest drops its filters after each."""
    ignore_deprecations()
    return (yield)


def ignore_deprecations() -> None:
    """Put these filters before all others."""
    for message, category in MESSAGES.items():
        warnings.filterwarnings("ignore", message, category)
