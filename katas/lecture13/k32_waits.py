"""Move the wait in a compiled graph.

``torch.compile`` turns ``dist.all_reduce(x)`` into two operators of the graph: one that starts it,
and one that waits for it. As traced, the wait follows immediately, and nothing overlaps:

    all_reduce = _c10d_functional.all_reduce(x, 'sum', '0')
    wait_tensor = _c10d_functional.wait_tensor(all_reduce)
    mm = aten.mm(w, w)                                          needs neither
    add = aten.add(wait_tensor, mm)

Write `sink_waits`, about 6 lines: ``other.prepend(node)`` moves a node of `torch.fx`.

Begin by printing a node's ``users``.
Afterwards read ``sink_waits`` in ``torch/_inductor/comms.py``, in site-packages.
"""

from __future__ import annotations

import torch
from torch import fx


def sink_waits(graph: fx.Graph) -> None:
    """Move each wait to just before the first node that uses it; all others keep their order.

    Waits with the same first user keep their order.
    A wait is a call of ``torch.ops._c10d_functional.wait_tensor.default``. If no node uses a wait,
    it stays: it may be there because of a write.
    """
    # TODO: which of a node's users comes first in graph.nodes?
    raise NotImplementedError("sink_waits")
