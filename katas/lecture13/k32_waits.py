"""Move the wait in a compiled graph.

``torch.compile`` turns ``dist.all_reduce(x)`` into two operators of the graph: one that begins, and
one that waits. As traced, the wait follows at once, and nothing overlaps:

    all_reduce = _c10d_functional.all_reduce(x, 'sum', '0')
    wait_tensor = _c10d_functional.wait_tensor(all_reduce)
    mm = aten.mm(w, w)                                          needs neither
    add = aten.add(wait_tensor, mm)

Write `sink_waits`, about 6 lines: a node of `torch.fx` moves by ``other.prepend(node)``.

Begin by printing a node's ``users``.
Afterwards read ``sink_waits`` in ``torch/_inductor/comms.py``, in site-packages.
"""

from __future__ import annotations

import torch
from torch import fx


def sink_waits(graph: fx.Graph) -> None:
    """Move each wait to right before the first node that uses it; the order of all others stays.

    Waits with the same first user keep their order.
    A wait is a call of ``torch.ops._c10d_functional.wait_tensor.default``. If nobody uses one, it
    stays: it may be waited for on account of a write.
    """
    # TODO: which of a node's users comes first in graph.nodes?
    raise NotImplementedError("sink_waits")
