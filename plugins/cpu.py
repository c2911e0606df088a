"""The device ``cpu``: here as soon as PyTorch is."""

from __future__ import annotations

from importlib.util import find_spec

from plugins.capability import Capability


def missing() -> str | None:
    """Return why there is no CPU tensor to be had, or None."""
    if find_spec("torch") is None:
        return "PyTorch is not installed; python -m pip install -r requirements.txt"
    return None


def pytest_kata_devices() -> list[Capability]:
    """Declare the device."""
    return [Capability("cpu", missing)]
