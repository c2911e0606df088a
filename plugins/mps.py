"""The device ``mps``: the GPU of a Mac with Apple silicon."""

from __future__ import annotations

from plugins.capability import Capability


def missing() -> str | None:
    """Return why Metal cannot be used, or None."""
    import torch  # noqa: PLC0415 - importing a plugin imports no torch

    if torch.backends.mps.is_available():
        return None
    if torch.backends.mps.is_built():
        return "macOS offers no Metal device; use a Mac with Apple silicon and macOS 14 or newer"
    return "this PyTorch is built without MPS; on a Mac with Apple silicon, every wheel contains it"


def pytest_kata_devices() -> list[Capability]:
    """Declare the device."""
    return [Capability("mps", missing)]
