"""Plan the memory of a program before it runs.

A phone asks for memory once: for one arena, in which each result has an offset. Two results may
share bytes if they are never alive at the same time. If a result is considered dead too early,
nothing fails, but the answer is wrong.

    call             1   2   3   4                  offset
    a = relu(x)      a---a                          0     128 bytes
    b = neg(a)           b---b---b                  128   128 bytes
    c = exp(b)               c---c                  0     128 bytes, where a was
    return b + c                 d---              256   128 bytes; the output

1. `lifetimes`: a call reads while it writes, so both ends are included.
2. `bound`: no arena is smaller than the results alive at one moment.
3. `place`: largest first, at the lowest offset that is free during its whole lifetime.
4. `tensor_at`: an element of 8 bytes needs an offset that 8 divides; `ALIGN` is enough for every
   dtype.
5. In `lifetimes` again: a view (``target.is_view``) has no bytes. Its readers read its base.

Inputs and weights have memory of their own, outside the arena.

Begin on paper: why is d not placed where b was? About 33 lines, an hour and a quarter.
Afterwards read ``torch/_inductor/codegen/memory_planning.py``, in site-packages (``LiveRange``).
"""

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
    # TODO: number the calls; then, for each call, the largest number among its readers.
    raise NotImplementedError("lifetimes")


def bound(spans: Sequence[Lifetime]) -> int:
    """Return the most bytes that are alive during one call; 0 for an empty list."""
    # TODO: a sum for each call.
    raise NotImplementedError("bound")


def place(spans: Sequence[Lifetime]) -> dict[str, int]:
    """Return an offset for each name, a multiple of `ALIGN`.

    The largest comes first; among equals, the one listed first. Each gets the lowest offset
    where it shares no byte with a result that was placed before and is alive at the same time.
    """
    # TODO: in order of size; go through what is in the way from the lowest offset up.
    raise NotImplementedError("place")


def tensor_at(arena: torch.Tensor, offset: int, like: torch.Tensor) -> torch.Tensor:
    """Return the bytes of a uint8 arena, from `offset` on, as a contiguous tensor like `like`."""
    # TODO: a slice, then two views of it.
    raise NotImplementedError("tensor_at")
