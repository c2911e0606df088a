"""Two devices, a backend, a lecture and its episodes; pytest loads this by an entry point.

It does so in every project of the environment. The hooks are optional, since pytest refuses those
that nobody has declared, and only the course declares these.

Entry points are loaded before pytest puts the root of the course on ``sys.path``, so `plugins`
is imported inside the hooks. They import torch inside the probes, so that runs which need no
device do not pay for it.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from plugins.tools.capability import Capability


HERE = Path(__file__).parent


def no_xpu() -> str | None:
    """Return why there is no Intel GPU."""
    import torch  # noqa: PLC0415

    if torch.xpu.is_available():
        return None
    return "no Intel GPU; see https://docs.pytorch.org/docs/stable/notes/get_start_xpu.html"


def no_toy() -> str | None:
    """Return why the device of this package cannot be used: PyTorch was told not to load it."""
    import torch  # noqa: PLC0415

    if hasattr(torch, "toy"):
        return None
    return "its library is not loaded; unset TORCH_DEVICE_BACKEND_AUTOLOAD"


def no_tvm() -> str | None:
    """Return why TVM cannot be used."""
    return None if find_spec("tvm") else "TVM is not installed; python -m pip install apache-tvm"


@pytest.hookimpl(optionalhook=True)
def pytest_kata_devices() -> list[Capability]:
    """Declare a device that few machines have, and one of this package."""
    from plugins.tools.capability import Capability  # noqa: PLC0415

    return [Capability("xpu", no_xpu), Capability("toy", no_toy)]


@pytest.hookimpl(optionalhook=True)
def pytest_kata_device_poisoned(device: str) -> str | None:
    """Return what has broken the device of this package; a process that has no torch used none."""
    toy = getattr(sys.modules.get("torch"), "toy", None)
    fault: str | None = getattr(toy, "fault", None)
    return fault if device == "toy" else None


@pytest.hookimpl(optionalhook=True)
def pytest_kata_backends() -> list[Capability]:
    """Declare a backend."""
    from plugins.tools.capability import Capability  # noqa: PLC0415

    return [Capability("tvm", no_tvm)]


@pytest.hookimpl(optionalhook=True)
def pytest_kata_lectures() -> list[Path]:
    """Add a lecture that is installed with this package."""
    return [HERE / "lecture90"]


@pytest.hookimpl(optionalhook=True)
def pytest_kata_episode_sources() -> list[Path]:
    """Add the episodes that the lecture refers to."""
    return [HERE / "episodes.toml"]
