"""Predict how long each rank of a pipeline waits, in six schedules.

1F1B is often said to shrink the bubble of GPipe. Does it? Here are two ranks and two micro-batches
of GPipe; a backward takes two slots:

    rank 0   F0 F1 .  .  .  B0 B0 B1 B1        3 idle slots
    rank 1   .  F0 F1 B0 B0 B1 B1 .  .         3 idle slots

Write the six numbers of `idle`. Interleaving gives each rank several thinner stages: stage s is on
rank s % ranks.

Begin by drawing ``gpipe`` for 2 ranks and 3 micro-batches: which number stays the same?
Afterwards see ``ScheduleInterleaved1F1B`` in ``torch/distributed/pipelining/schedules.py``.
"""

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
    """Return, for each pipeline, how many slots a rank idles until the last rank has ended.

    All layers of a rank take 4 slots for the forward of a micro-batch and 8 for its backward;
    several stages on a rank share these equally. Sending takes no time.
    """
    # TODO: return {"one": ..., "gpipe": ...}
    raise NotImplementedError("idle")
