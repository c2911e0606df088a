"""The min-cut partitioner: what to save for backward, and what to recompute.

What forward saves is most of the memory of training, and much of it is cheap to recompute from
something smaller. Which choice of values takes the fewest bytes? torch.compile asks for a minimum
cut. Each value becomes an edge whose capacity is its bytes; no other edge may be cut:

    source ==> in:mm --64--> out:mm ==> in:sin --16--> out:sin ==> in:exp --32--> out:exp ==> sink

``mm`` must not run twice, backward needs ``exp``. The cut goes through 16: save ``sin``, recompute
``exp``. Build the partitioner, about 45 lines:

1. `max_flow`: push along shortest paths with residual capacity, until none is left.
2. `saved_values`: which nodes run in backward?
3. Cut the network of all other nodes that the gradients need with `max_flow`.
4. Of the nodes in the cut, keep those that backward uses.

- A primal costs nothing: it exists anyway.
- No networkx, no ``torch._functorch``: you are writing them.

Begin on paper: backward uses ``sin``, too. Which edge is new?
Afterwards find your network in ``solve_min_cut`` of ``torch/_functorch/partitioners.py``, in
site-packages. Real life differs: PyTorch also weighs memory traffic, what can be fused, and how far
a value is from its use.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import fx


if TYPE_CHECKING:
    from collections.abc import Hashable
    from collections.abc import Iterable
    from collections.abc import Mapping

    from torch import fx

    Edge = tuple[Hashable, Hashable]


# Given: the text of the ValueError of `max_flow`.
UNBOUNDED = "the flow is unbounded: a path has no edge that may be cut"


def max_flow(
    capacities: Mapping[Edge, float], source: Hashable, sink: Hashable
) -> tuple[float, set[Hashable]]:
    """Return the maximum flow, and the vertices on the source's side of the cut that limits it.

    `capacities` maps edges, pairs ``(start, end)`` of any hashable vertices, to numbers: integers
    from 0 up, or ``math.inf``. It is not changed. Two vertices may have edges in both
    directions; the source or the sink may have none.

    Push along shortest paths, found breadth first (Edmonds and Karp). What was pushed along an edge
    is residual capacity in the other direction: it can be sent back.

    The second result is the set of vertices still reachable from the source at the end, along
    edges with residual capacity. The source is among them, and the edges that leave the set are the
    minimum cut nearest to the source.

    Raises
    ------
    ValueError
        If a path from source to sink has only infinite edges. The text is `UNBOUNDED`.
    """
    # TODO: push along shortest paths with residual capacity, until none is left.
    raise NotImplementedError("max_flow")


def is_expensive(node: fx.Node) -> bool:
    """Return whether a node must not run twice: it is slow, or draws random numbers. Given."""
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


def price(node: fx.Node) -> float:
    """Return the bytes of a tensor; a tuple of tensors cannot be saved, its items can. Given."""
    value: Any = node.meta["val"]
    return value.nbytes if isinstance(value, torch.Tensor) else math.inf


def walk_back(results: Iterable[fx.Node | None], stops: set[fx.Node]) -> set[fx.Node]:
    """Return the nodes on the way back from `results`, not going past a stop. Given.

    Results and stops are included; None is skipped.
    """
    met: set[fx.Node] = set()
    waiting = [node for node in results if node is not None]
    while waiting:
        node = waiting.pop()
        if node not in met:
            met.add(node)
            waiting += [] if node in stops else node.all_input_nodes
    return met


def saved_values(joint: fx.Graph, num_outputs: int) -> list[fx.Node]:
    """Return the nodes that forward saves, in as few bytes as possible, in the graph's order.

    `joint` is the graph of forward and backward together. Its placeholders are the primals, then
    one tangent for each output; its results are the outputs, then one gradient for each primal,
    some of them None. It is not changed.

    - Consider only what the gradients are computed from. Of that, whatever depends on a tangent,
      directly or not, runs in backward, expensive or not. The rest runs in forward, and again in
      backward if it is not saved.
    - A node that `is_expensive` and depends on no tangent must not run in backward.
    - Saving a node costs its `price`, a primal 0; an output costs as much as any other node.
    - A gradient is needed in backward even if it depends on no tangent.
    - List a node, even a primal, only if backward uses it.
    - If several choices cost the same, the cut nearest to the source wins.
    """
    # TODO: what runs in backward; the network; its cut; then which of the cut backward uses.
    raise NotImplementedError("saved_values")
