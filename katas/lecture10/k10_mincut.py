"""The min-cut partitioner: what to save and what to compute again, by maximum flow.

What forward saves for backward is most of the memory of training. Much of it need not be saved:
what is cheap to compute can be computed again in backward, from less. Which values to save, so
that their bytes are fewest? That is a minimum cut of a network, which is found by a maximum flow.

``max_flow(capacities, source, sink)`` solves the general problem. `capacities` is a dictionary
from edges, pairs ``(start, end)`` of any hashable vertices, to numbers: 0 or more, integers or
``math.inf``.

- Return the value of the greatest flow, and the set of the vertices that the source still reaches
  by edges with room left once the flow is greatest: an edge along which less flows than it
  could, or one against which something flows, which can be sent back. The source is always among
  them. The edges that lead out of this set are a cut of the least capacity, the one nearest to
  the source.
- Push along shortest ways (Edmonds and Karp): the number of rounds is then bounded by the size
  of the graph and not by its capacities.
- Raise ``ValueError`` with the word "unbounded" if there is a way of infinite edges alone.
- Two vertices may have edges in both directions. A vertex may be missing in `capacities`, which
  is not changed.

``saved_values(joint, num_outputs)`` chooses. `joint` is the ``torch.fx.Graph`` of a joint graph:
its placeholders are the primals and then one tangent for each output, its results the outputs and
then one gradient for each primal, some of them None. Return the list of the nodes to save, in the
order of the graph. It is not to be changed. (No partition is asked for, just the choice.)

- Only what the gradients are computed from counts. Of that, what depends on a tangent, at any
  distance, runs in backward. Everything else may run in forward, and may run once more in
  backward if it is not saved.
- A node of which ``is_expensive`` is true (given below) runs in forward alone if it depends on no
  tangent: a product of matrices would cost time, and a dropout would draw another mask.
- Saving a tensor costs its bytes: ``node.meta["val"]`` is a tensor of the right shape and dtype
  without data. Where that is no tensor but a tuple, the node cannot be saved (its items, which
  are ``operator.getitem`` nodes, can). An output costs as much as any other value.
- A primal costs nothing, since it is there in any case, but it is in the list only if backward
  uses it: to compute a value again, or as an argument. The same holds for every other node.
- A gradient that depends on no tangent has to be saved, or computed again, like the rest.

Each node becomes two vertices with an edge between them of the capacity of its price. If this
edge is cut, the node is saved. Which vertices does the source lead to, and which lead to the sink?
If several choices cost the same, take the cut nearest to the source, which max_flow finds.

PyTorch does the same and then refuses more: it also weighs the time that memory traffic takes,
what can be fused with what, and how far a value is from its use. Views count as what they show.
About 60 lines. Use neither networkx nor ``torch._functorch``.

In PyTorch: ``torch/_functorch/partitioners.py`` (``solve_min_cut``), which calls
``networkx.minimum_cut``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Hashable
    from collections.abc import Mapping

    from torch import fx

    Edge = tuple[Hashable, Hashable]


def max_flow(
    capacities: Mapping[Edge, float], source: Hashable, sink: Hashable
) -> tuple[float, set[Hashable]]:
    """Return the greatest flow, and the vertices on the source's side of the cut that limits it."""
    # TODO: push along shortest ways with room left, until there is none.
    raise NotImplementedError("max_flow")


def is_expensive(node: fx.Node) -> bool:
    """Whether a node must not run twice: it is slow, or draws random numbers. Given."""
    aten = torch.ops.aten
    slow = (
        aten.mm,
        aten.addmm,
        aten.bmm,
        aten.convolution,
        aten._scaled_dot_product_flash_attention_for_cpu,  # noqa: SLF001 - its only name
    )
    random = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
    return random or getattr(node.target, "overloadpacket", None) in slow


def saved_values(joint: fx.Graph, num_outputs: int) -> list[fx.Node]:
    """Return the nodes that forward saves, of the fewest bytes that spare what is expensive."""
    # TODO: build the network, cut it, and keep of the cut what backward uses.
    raise NotImplementedError("saved_values")
