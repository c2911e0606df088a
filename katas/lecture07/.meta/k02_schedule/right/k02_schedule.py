"""When does the profiler record? A cycle, written out."""

from __future__ import annotations

from torch.profiler import ProfilerAction


def action(step: int, wait: int, warmup: int, active: int, repeat: int = 0) -> ProfilerAction:
    """Return what the profiler does in a step."""
    cycle = [ProfilerAction.NONE] * wait + [ProfilerAction.WARMUP] * warmup
    cycle += [ProfilerAction.RECORD] * (active - 1) + [ProfilerAction.RECORD_AND_SAVE]
    if repeat and step >= repeat * len(cycle):
        return ProfilerAction.NONE
    return cycle[step % len(cycle)]
