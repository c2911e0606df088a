"""Change the width of a window, and compile nothing.

The layers of a model alternate between narrow and wide windows, and their attention is
compiled. How often? A backend is a function, so it can count its calls:

    print(compilations(by_int, [1, 2, 3, 4]), compilations(by_int, [4, 4, 4]))

Write `window`: the same masks, one compilation for all widths. About 4 lines.

Begin on paper: which of the values that ``mask_mod`` uses are its arguments, and which are not?
Afterwards read about ``automatic_dynamic_shapes`` in ``torch/_dynamo/config.py``: it keeps
the count from being even larger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.nn.attention.flex_attention import BlockMask
from torch.nn.attention.flex_attention import create_block_mask
from torch.nn.attention.flex_attention import flex_attention


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable


def compilations(window: Callable[[int, int], BlockMask], widths: Iterable[int]) -> int:
    """Return how often ``torch.compile`` calls its backend for these widths: given."""
    graphs = []

    def backend(graph: torch.fx.GraphModule, _inputs: Any) -> Callable[..., Any]:
        graphs.append(graph)
        return graph.forward

    torch.compiler.reset()
    attend = torch.compile(
        lambda x, mask: flex_attention(x, x, x, block_mask=mask), backend=backend
    )
    x = torch.randn(1, 1, 16, 8)
    for width in widths:
        attend(x, window(width, 16))
    return len(graphs)


def made(mask_mod: Callable[..., Any], tokens: int) -> BlockMask:
    """Return the block mask, in blocks of four: given."""
    return create_block_mask(mask_mod, None, None, tokens, tokens, device="cpu", BLOCK_SIZE=4)


def by_int(width: int, tokens: int) -> BlockMask:
    """Let each token see itself and those before it, `width` tokens in all. Given."""

    def mask_mod(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
        return (query >= key) & (query - key < width)

    return made(mask_mod, tokens)


def window(width: int, tokens: int) -> BlockMask:
    """Return the mask of `by_int`, built from a ``mask_mod`` that is not recompiled."""
    # TODO: what may mask_mod capture?
    raise NotImplementedError("window")
