"""Find out where the time goes: a profile's rows are nested.

A layer took 40 ms, and the rows of its profile add up to 110. Which is slow?

    linear        0 ------------------ 40            self 40 - 38 = 2
      addmm        1 ---------------- 39             self 38 - 30 - 2 = 6
        mkldnn       3 ---------- 33                 self 30
        copy_                        35 - 37         self 2

A phone's profile is read the same way: a delegate's row contains rows of its own.

Write `self_times`, 8 lines. Begin with ``events()`` of a `torch.profiler.profile`: print ``name``,
``time_range.start`` and ``time_range.end`` of each, for a linear layer. Afterwards read
`self_cpu_time_total` in ``torch/autograd/profiler_util.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple


if TYPE_CHECKING:
    from collections.abc import Sequence


class Row(NamedTuple):
    """A row of one thread's profile: what ran, from when to when."""

    name: str
    start: float
    end: float


def self_times(rows: Sequence[Row]) -> dict[str, float]:
    """Return the self time of each name, summed over its rows.

    A row is either inside another or entirely outside it. The rows may come in any order; of two
    that begin together, the longer one is outside, or the first if they are equal.
    """
    # TODO: outer rows first; which rows are open when a row begins?
    raise NotImplementedError("self_times")
