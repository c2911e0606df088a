"""An honest timer: two kernels that differ by 5 %, on a machine that lies."""

from __future__ import annotations

from statistics import median
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
    """Return the median time of a call of `f`, and the median time of a call of `g`."""
    f()
    g()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for call, found in zip((f, g), times, strict=True):
            synchronize()
            start = clock()
            call()
            synchronize()
            found.append(clock() - start)
    return median(times[0]), median(times[1])
