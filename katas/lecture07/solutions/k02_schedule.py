"""When does the profiler record? Its schedule, from scratch."""

from __future__ import annotations

from torch.profiler import ProfilerAction


def action(step: int, wait: int, warmup: int, active: int, repeat: int = 0) -> ProfilerAction:
    """Return what the profiler does in a step, counted from 0."""
    cycle, place = divmod(step, wait + warmup + active)
    if (repeat and cycle >= repeat) or place < wait:
        return ProfilerAction.NONE
    if place < wait + warmup:
        return ProfilerAction.WARMUP
    last = place == wait + warmup + active - 1
    return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD
