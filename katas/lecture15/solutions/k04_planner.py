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
    numbers = {node: number for number, node in enumerate(calls, 1)}

    def last(node: fx.Node) -> int:
        ends = [numbers[node]]
        for user in node.users:
            if user.op == "output":
                ends.append(len(calls))
            else:
                ends.append(last(user) if user.target.is_view else numbers[user])  # type: ignore[union-attr]
        return max(ends)

    return [
        Lifetime(node.name, node.meta["val"].nbytes, numbers[node], last(node))
        for node in calls
        if not node.target.is_view
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
    offsets: dict[str, int] = {}
    for each in sorted(spans, key=lambda each: -each.nbytes):
        blocks = sorted(
            (offsets[other.name], offsets[other.name] + other.nbytes)
            for other in spans
            if other.name in offsets and other.first <= each.last and each.first <= other.last
        )
        at = 0
        for start, end in blocks:
            if at + each.nbytes <= start:
                break
            at = max(at, aligned(end))
        offsets[each.name] = at
    return offsets


def tensor_at(arena: torch.Tensor, offset: int, like: torch.Tensor) -> torch.Tensor:
    """Return the bytes of a uint8 arena, from `offset` on, as a contiguous tensor like `like`."""
    return arena[offset : offset + like.nbytes].view(like.dtype).view(like.shape)
