"""Who takes the time? Look at a profile and its table.

Sort a profile by total time and your own function comes first, then the functions that call the
operator that does the work. Run this, and look at both columns:

    with profile(activities=[ProfilerActivity.CPU]) as prof:
        with record_function("step"):
            torch.linalg.svd(torch.randn(100, 100))
    print(prof.key_averages().table(sort_by="cpu_time_total"))

Self time leaves out the children. Write `hottest`, about 4 lines: profile, and find the row with
the largest self time.

Begin with the lines above.
Afterwards read ``EventList.table`` in ``torch/autograd/profiler_util.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.profiler import ProfilerActivity
from torch.profiler import profile


if TYPE_CHECKING:
    from collections.abc import Callable


def hottest(work: Callable[[], object]) -> tuple[str, int, profile]:
    """Call `work` once under the profiler, and return where its time went on the CPU.

    Return the name (``key``) of the row of ``key_averages()`` with the largest self time, how often
    it ran (``count``), and the finished profile.
    """
    # TODO: which attribute of a row is its own time, without the children's?
    raise NotImplementedError("hottest")
