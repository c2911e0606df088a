"""Predict what the conventions of ``torch.fft`` do to numbers."""

from __future__ import annotations


def answers() -> dict[str, tuple[float, ...]]:
    """Return the numbers of each row."""
    return {
        "ones": (4, 2, 1),
        "seven": (4, 6),
        "complex": (1, 1, 1, 1),
        "even": (1, 2, 1),
        "odd": (1, 2, 2),
        "middle": (-0.5, 0.5),
    }
