"""Plan the memory of a program before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    import torch
    from torch import fx


ALIGN = 16


# Given: do not change.
class Lifetime(NamedTuple):
    """A result: its size in bytes, the call that writes it, the last call that needs it."""

    name: str
    nbytes: int
    first: int
    last: int


def aligned(offset: int) -> int:
    """Return the first multiple of `ALIGN` that is not below `offset`."""
    return -(-offset // ALIGN) * ALIGN


def arena_size(spans: Sequence[Lifetime], offsets: Mapping[str, int]) -> int:
    """Return how many bytes the arena has."""
    return max((offsets[each.name] + each.nbytes for each in spans), default=0)


def drawn(spans: Sequence[Lifetime], offsets: Mapping[str, int]) -> str:
    """Return the arena as text: a line for each result, a column for each call."""
    lines, calls = [], max((each.last for each in spans), default=0)
    for each in sorted(spans, key=lambda each: (offsets[each.name], each.first)):
        bar = "".join("#" if each.first <= n <= each.last else "." for n in range(1, calls + 1))
        end = offsets[each.name] + each.nbytes
        lines.append(f"{offsets[each.name]:5} to {end:5}  {bar}  {each.name}")
    return "\n".join(lines)


# The exercise.
def lifetimes(graph: fx.Graph) -> list[Lifetime]:
    """Return the lifetimes of the results that calls write, in graph order.

    The calls (``node.op == "call_function"``) are numbered from 1, including views. The
    graph's outputs are alive until the last call. ``node.meta["val"].nbytes`` is a result's size.
    """
    calls = [node for node in graph.nodes if node.op == "call_function"]
    base, number, ends = {}, {}, {}
    for at, node in enumerate(calls, 1):
        number[node] = ends[node] = at
        base[node] = base.get(node.args[0]) if node.target.is_view else node
        for read in node.all_input_nodes:
            if base.get(read):
                ends[base[read]] = at
    for node in graph.output_node().all_input_nodes:
        if base.get(node):
            ends[base[node]] = len(calls)
    return [
        Lifetime(n.name, n.meta["val"].nbytes, number[n], ends[n]) for n in calls if base[n] is n
    ]


def bound(spans: Sequence[Lifetime]) -> int:
    """Return the most bytes that are alive during one call; 0 for an empty list."""
    return max(
        (sum(b.nbytes for b in spans if b.first <= a.first <= b.last) for a in spans), default=0
    )


def place(spans: Sequence[Lifetime]) -> dict[str, int]:
    """Return an offset for each name, a multiple of `ALIGN`.

    The largest comes first; among equals, the one listed first. Each gets the lowest offset
    where it shares no byte with a result that was placed before and is alive at the same time.
    """
    offsets = {}
    for each in sorted(spans, key=lambda each: each.nbytes, reverse=True):
        met = [
            x for x in spans if x.name in offsets and x.last >= each.first and x.first <= each.last
        ]
        tries = sorted([0, *(aligned(offsets[x.name] + x.nbytes) for x in met)])
        offsets[each.name] = next(
            at
            for at in tries
            if all(
                at >= offsets[x.name] + x.nbytes or at + each.nbytes <= offsets[x.name] for x in met
            )
        )
    return offsets


def tensor_at(arena: torch.Tensor, offset: int, like: torch.Tensor) -> torch.Tensor:
    """Return the bytes of a uint8 arena, from `offset` on, as a contiguous tensor like `like`."""
    return arena[offset : offset + like.nbytes].view(like.dtype).view(like.shape)
