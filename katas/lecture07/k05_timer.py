"""An honest timer: two kernels that differ by 5 %, on a machine that lies.

``t0 = time(); f(); print(time() - t0)`` is wrong in five ways:

    lie                                            remedy
    f returns before the GPU is done               synchronise, then read the clock
    earlier work is still in the queue             synchronise first, too
    the first call compiles, allocates, loads      call each once, untimed
    the clock rate drops while the GPU heats up    take turns: f, g, f, g, ...
    now and then a run is interrupted, or lucky    the median, not the mean or the best

Write `compare` with all five, about 12 lines. The clock of the tests is simulated, so that a wrong
timer is wrong in every run.

Begin with the table, from top to bottom.
Afterwards read ``Timer`` in ``torch/utils/benchmark/utils/timer.py``, in site-packages, and
``triton.testing.do_bench``, which also clears the cache between runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable


def compare(
    f: Callable[[], object],
    g: Callable[[], object],
    clock: Callable[[], float],
    synchronize: Callable[[], object],
    rounds: int = 30,
) -> tuple[float, float]:
    """Return the median time of a call of `f`, and the median time of a call of `g`.

    Both only launch work; `synchronize` waits until all launched work is done. `clock` returns the
    current time. Time each of them `rounds` times, one call at a time.
    """
    # TODO: first the untimed calls, then the rounds.
    raise NotImplementedError("compare")
