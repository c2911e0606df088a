"""Tests of k06_see_a_mask: pictures of masks, and the pairs of each block, counted."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline

from katas.lecture24.k06_see_a_mask import causal
from katas.lecture24.k06_see_a_mask import kinds
from katas.lecture24.k06_see_a_mask import show
from katas.lecture24.k06_see_a_mask import window


if TYPE_CHECKING:
    from collections.abc import Callable


def blocks(
    mod: Callable[..., torch.Tensor], queries: int, keys: int, size: int, **more: Any
) -> Any:
    """Return a BlockMask; its import takes seconds."""
    from torch.nn.attention.flex_attention import create_block_mask  # noqa: PLC0415

    return create_block_mask(
        mod,
        more.get("batch"),
        more.get("heads"),
        queries,
        keys,
        device="cpu",
        BLOCK_SIZE=size,
    )


def counted(
    mod: Callable[..., torch.Tensor], queries: int, keys: int, size: int
) -> list[list[int]]:
    """Return the kinds of blocks by looking at all pairs."""
    zero = torch.tensor(0)
    pairs = mod(zero, zero, torch.arange(queries)[:, None], torch.arange(keys))
    found = []
    for i in range(0, queries, size):
        row = []
        for j in range(0, keys, size):
            some = pairs[i : i + size, j : j + size]
            row.append(2 if some.all() and some.numel() == size * size else int(some.any()))
        found.append(row)
    return found


def far(b: torch.Tensor, h: torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Key blocks in an unusual order: every third token, and all that are far away."""
    del b, h
    return ((q - k).abs() > 5) | ((q + 2 * k) % 7 == 0) & (k > 9)


def test_a_window() -> None:
    """Compare query by query, key by key."""
    zero = torch.tensor(0)
    for q in range(6):
        yours = [bool(window(zero, zero, torch.tensor(q), torch.tensor(k))) for k in range(6)]
        right = [q - 3 <= k <= q for k in range(6)]
        assert yours == right, f"in your mask, query {q} sees {yours}, expected {right}"


def test_a_window_under_vmap() -> None:
    """Under create_block_mask, q and k have no values for `if` or `and` to read."""
    try:
        mask = blocks(window, 8, 8, 2)
    except RuntimeError as error:
        if isinstance(error, NotImplementedError):
            raise
        message = f"create_block_mask cannot call your window: {str(error).splitlines()[0]}"
        raise AssertionError(message) from None
    right = counted(lambda b, h, q, k: (q >= k) & (q - k < 4), 8, 8, 2)
    yours = (mask.kv_num_blocks + mask.full_kv_num_blocks).flatten().tolist()
    expected = [sum(kind > 0 for kind in row) for row in right]
    assert yours == expected, f"blocks that are not empty: yours {yours}, expected {expected}"


def test_a_causal_mask() -> None:
    """Blocks are full below the diagonal and partial on it; the result is int64."""
    yours = kinds(blocks(causal, 256, 256, 64))
    right = [[1, 0, 0, 0], [2, 1, 0, 0], [2, 2, 1, 0], [2, 2, 2, 1]]
    assert yours.dtype == torch.int64, f"yours is {yours.dtype}, expected torch.int64"
    assert yours.tolist() == right, f"yours {yours.tolist()}, expected {right}"


@pytest.mark.parametrize("size", [4, 3, 1])
def test_kinds_as_counted(size: int) -> None:
    """Compare other masks, with more keys than queries, and an edge that is not a whole block."""
    for mod in (causal, far):
        for queries, keys in ((12, 12), (10, 16), (13, 11)):
            yours = kinds(blocks(mod, queries, keys, size)).tolist()
            right = counted(mod, queries, keys, size)
            assert yours == right, (
                f"{queries} queries, {keys} keys, blocks of {size}: yours {yours}, expected {right}"
            )


def test_batch_0_and_head_0() -> None:
    """Each head has its own mask: only head 0 counts."""
    mask = blocks(lambda b, h, q, k: (q <= k) & (b + h < 1), 8, 8, 4, batch=2, heads=3)
    yours = kinds(mask).tolist()
    assert yours == [[1, 2], [0, 1]], f"yours {yours}, expected [[1, 2], [0, 1]], of head 0"


def test_a_mask_without_lists_of_full_blocks() -> None:
    """A mask may have only partial blocks: then the attributes for full blocks are None."""
    made = blocks(causal, 12, 12, 4)
    mask = type(made).from_kv_blocks(
        made.kv_num_blocks, made.kv_indices, BLOCK_SIZE=4, mask_mod=causal, seq_lengths=(12, 12)
    )
    assert mask.full_kv_num_blocks is None, "PyTorch has changed: full_kv_num_blocks is not None"
    try:
        yours = kinds(mask).tolist()
    except (TypeError, AttributeError) as error:
        message = f"full_kv_num_blocks is None, and yours raises {type(error).__name__}: {error}"
        raise AssertionError(message) from None
    right = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert yours == right, f"no full blocks: yours {yours}, expected {right}"


def test_pictures() -> None:
    """A causal mask, your window with larger and smaller blocks, and a mask full of holes."""
    masks = {
        "causal": blocks(causal, 24, 24, 4),
        "window, blocks of 4": blocks(window, 24, 24, 4),
        "window, blocks of 2": blocks(window, 12, 12, 2),
        "far": blocks(far, 20, 24, 4),
    }
    assert_expected_inline(
        "\n".join(f"{name}\n{show(mask)}" for name, mask in masks.items()),
        """\
causal
+.....
#+....
##+...
###+..
####+.
#####+
window, blocks of 4
+.....
++....
.++...
..++..
...++.
....++
window, blocks of 2
+.....
#+....
+#+...
.+#+..
..+#+.
...+#+
far
.++###
+.++##
+++++#
#+++++
##++++""",
    )
