"""Six apps on your machine: predict their states, and how many processes start."""

from __future__ import annotations


STATES = ("PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED")


def outcomes() -> dict[str, tuple[str, str, int]]:
    """Return each app's state after a second and at the end, and how many processes start."""
    return {
        "good": ("SUCCEEDED", "SUCCEEDED", 1),
        "again": ("FAILED", "FAILED", 1),
        "pair": ("RUNNING", "FAILED", 2),
        "error": ("SUCCEEDED", "SUCCEEDED", 1),
        "signal": ("RUNNING", "FAILED", 2),
        "cancelled": ("CANCELLED", "CANCELLED", 2),
    }
