"""When does the profiler record? Its schedule, from scratch.

A trace of a whole training run is too large to open, so the profiler waits, warms up, records, and
hands the trace over:

    step         0     1       2       3       4                5     6       ...
    wait=1       none
    warmup=1           warmup
    active=3                   record  record  record_and_save
    next cycle                                                  none  warmup

A training run of one step gets no trace, and no error. Write `action`, about 8 lines, which returns
the same as ``torch.profiler.schedule``.

Begin with the steps of one cycle, then use the remainder.
Afterwards read ``schedule`` in ``torch/profiler/profiler.py``, in site-packages.
"""

from __future__ import annotations

from torch.profiler import ProfilerAction


def action(step: int, wait: int, warmup: int, active: int, repeat: int = 0) -> ProfilerAction:
    """Return what the profiler does in a step, counted from 0.

    There are `repeat` cycles of `wait`, `warmup` and `active` steps, then NONE; if `repeat` is 0,
    the cycles never end. The last active step of a cycle is RECORD_AND_SAVE, the other active ones
    are RECORD. `active` is at least 1.
    """
    # TODO: where in its cycle is this step?
    raise NotImplementedError("action")
