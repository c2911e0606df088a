"""Compile a decode step once, not for each token.

``torch.compile`` guards on what it treated as a constant: sizes, and Python numbers. A decode step
grows by one token each time. Count what that costs: a backend is a function, so it can count.

    print(compilations(by_cat, by_hand(12)), compilations(by_int, by_hand(12, room=16)))

Write `step` so that it compiles once for all tokens: keep one shape, and the position in a tensor.

Which number does the compiler see in each given function?
Afterwards run it with ``TORCH_LOGS=recompiles``; the limit is in ``torch/_dynamo/config.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Iterator


def by_hand(tokens: int, room: int = 0) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments of each step: a cache, q, k, v and the position as int. Given."""
    cache = [torch.zeros(1, 2, room, 4) for _ in "kv"]
    for position in range(tokens):
        yield cache, *torch.randn(3, 1, 2, 1, 4), position


def compilations(step: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> int:
    """Return how often ``torch.compile`` calls its backend for these calls of `step`. Given."""
    graphs = []

    def backend(graph: torch.fx.GraphModule, _inputs: Any) -> Callable[..., Any]:
        graphs.append(graph)
        return graph.forward

    torch.compiler.reset()
    compiled = torch.compile(step, backend=backend)
    for arguments in calls:
        compiled(*arguments)
    return len(graphs)


def by_cat(
    cache: list[torch.Tensor], q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, _position: int
) -> torch.Tensor:
    """Attend from one token to all so far, with a cache that grows. Given."""
    cache[0], cache[1] = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    return scaled_dot_product_attention(q, cache[0], cache[1])


def by_int(
    cache: list[torch.Tensor], q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, position: int
) -> torch.Tensor:
    """Attend from one token to all so far, with room, and an int as position. Given."""
    cache[0][:, :, position : position + 1] = k
    cache[1][:, :, position : position + 1] = v
    keys, values = (x[:, :, : position + 1] for x in cache)
    return scaled_dot_product_attention(q, keys, values)


def step(
    cache: list[torch.Tensor],
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    position: torch.Tensor,
) -> torch.Tensor:
    """Write k and v, [1, heads, 1, dim], to `position` of the cache, and return what q reads.

    The cache is two tensors [1, heads, room, dim]: write to them in place. `position` is int64 [1].
    Slots after that position have not been written yet: ignore them.
    """
    # TODO: write by index, and mask the later slots.
    raise NotImplementedError("step")
