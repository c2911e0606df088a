"""Who takes the time? Look at a profile and its table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.profiler import ProfilerActivity
from torch.profiler import profile


if TYPE_CHECKING:
    from collections.abc import Callable


def hottest(work: Callable[[], object]) -> tuple[str, int, profile]:
    """Call `work` once under the profiler, and return where its time went on the CPU."""
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        work()
    row = max(prof.key_averages(), key=lambda row: row.self_cpu_time_total)
    return row.key, row.count, prof
