"""Tests of k08_block_mask: blocks by hand, and those of create_block_mask."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch.nn.attention.flex_attention import create_block_mask
from torch.nn.attention.flex_attention import flex_attention

from katas.lecture24 import k08_block_mask
from katas.lecture24.k08_block_mask import block_mask
from katas.lecture24.k08_block_mask import blocks
from katas.lecture24.k08_block_mask import indices
from katas.lecture24.k08_block_mask import show
from plugins.kit import forbids
from plugins.kit import unchanged


# Without torch.compile, FlexAttention warns that it computes all scores.
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without")

DOCUMENT = torch.tensor([0] * 7 + [1] * 12 + [2] * 4 + [3] * 17)
DICE = torch.rand(40, 40, generator=torch.Generator().manual_seed(8)) < 0.9


def causal(_batch: Any, _head: Any, query: Any, key: Any) -> torch.Tensor:
    """Allow keys that are not after the query."""
    return torch.as_tensor(query >= key)


def window(_batch: Any, _head: Any, query: Any, key: Any) -> torch.Tensor:
    """Allow the last seven keys."""
    return (query >= key) & (query - key < 7)


def prefix(_batch: Any, _head: Any, _query: Any, key: Any) -> torch.Tensor:
    """Allow the first five keys: the query is ignored."""
    return torch.as_tensor(key < 5)


def late(_batch: Any, _head: Any, query: Any, _key: Any) -> torch.Tensor:
    """Allow everything from the sixth query on: the key is ignored."""
    return torch.as_tensor(query >= 5)


def everything(_batch: Any, _head: Any, query: Any, key: Any) -> torch.Tensor:
    """Allow every pair."""
    return torch.as_tensor(query + key >= 0)


def nothing(_batch: Any, _head: Any, query: Any, key: Any) -> torch.Tensor:
    """Allow no pair."""
    return torch.as_tensor(query + key < 0)


def document(_batch: Any, _head: Any, query: Any, key: Any) -> torch.Tensor:
    """Allow tokens of the same document, by a table."""
    return DOCUMENT[query] == DOCUMENT[key]


def dice(batch: Any, head: Any, query: Any, key: Any) -> torch.Tensor:
    """Allow nine pairs out of ten, by a table, in batch 0 and head 0."""
    return DICE[query, key] & ~DICE.new_zeros(1, 1)[batch, head]


def strict(batch: Any, head: Any, query: Any, key: Any) -> torch.Tensor:
    """Allow keys that are not after the query, in batch 0: all four must be int64 tensors."""
    for name, yours in (("batch", batch), ("head", head), ("query", query), ("key", key)):
        what = yours.dtype if isinstance(yours, torch.Tensor) else type(yours).__name__
        assert what == torch.int64, f"mask_mod gets {name} as {what}, expected an int64 tensor"
    return torch.where(batch + head == 0, query, -1) >= key


MODS = (causal, window, prefix, late, everything, nothing, document, dice)


def picture(mod: Any, queries: int, keys: int, size: int) -> list[str]:
    """Return the rows of the picture of your blocks."""
    return show(*blocks(mod, queries, keys, size)).splitlines()


def test_a_causal_mask() -> None:
    """Eight tokens in blocks of four: the diagonal is partial, and the block below it is full."""
    partial, full = blocks(causal, 8, 8, 4)
    for name, yours in (("partial", partial), ("full", full)):
        assert yours.dtype == torch.bool, f"{name} is {yours.dtype}, expected torch.bool"
        shape = list(yours.shape)
        assert shape == [2, 2], f"{name} has shape {shape}: expected 2 rows of 2 blocks"
    yours = show(partial, full)
    assert yours == "+ .\n# +", (
        f"causal, 8 tokens in blocks of 4, yours:\n{yours}\nexpected:\n+ .\n# +\n(? is both)"
    )


def test_a_mask_is_asked_with_tensors() -> None:
    """Called as FlexAttention calls it: batch, head, query and key are int64 tensors."""
    yours = picture(strict, 8, 8, 4)
    assert yours == ["+ .", "# +"], f"causal in batch 0: yours {yours}, expected ['+ .', '# +']"


def test_a_ragged_edge_is_partial() -> None:
    """Ten queries and eight keys, all allowed: the last row has slots without a query."""
    yours = picture(everything, 10, 8, 4)
    assert yours == ["# #", "# #", "+ +"], (
        f"10 queries, 8 keys, all allowed, blocks of 4: yours {yours}, expected"
        " ['# #', '# #', '+ +']: a kernel does not call mask_mod in a full block, and would read"
        " slots that do not exist"
    )


def test_more_keys_than_queries() -> None:
    """Three queries and nine keys: one row of blocks, three columns."""
    yours = picture(everything, 3, 9, 3)
    assert yours == ["# # #"], f"3 queries, 9 keys, blocks of 3: yours {yours}, expected ['# # #']"


@pytest.mark.parametrize(
    ("mod", "right"), [(prefix, ["# + .", "# + ."]), (late, [". . .", "+ + +"])]
)
def test_a_mask_of_one_of_them(mod: Any, right: list[str]) -> None:
    """The result of mask_mod may have a dim of size 1, and broadcasts along it."""
    yours = picture(mod, 8, 12, 4)
    assert yours == right, f"{mod.__name__}, 8 queries, 12 keys: yours {yours}, expected {right}"


def test_a_window_as_text() -> None:
    """Show a window of seven tokens, for 22 tokens in blocks of three."""
    assert_expected_inline(
        show(*blocks(window, 22, 22, 3)),
        """\
+ . . . . . . .
# + . . . . . .
+ # + . . . . .
. + # + . . . .
. . + # + . . .
. . . + # + . .
. . . . + # + .
. . . . . + + +""",
    )


def test_indices_of_two_rows() -> None:
    """The first row has two of three blocks, the second none."""
    which = torch.tensor([[False, True, True], [False, False, False]])
    with unchanged(which=which):
        counts, numbers = indices(which)
    for name, yours, shape in (("counts", counts, [2]), ("numbers", numbers, [2, 3])):
        assert yours.dtype == torch.int32, f"{name} are {yours.dtype}, expected torch.int32"
        assert list(yours.shape) == shape, f"{name} have shape {list(yours.shape)}, not {shape}"
    assert counts.tolist() == [2, 0], f"your counts are {counts.tolist()}, expected [2, 0]"
    assert numbers[0, :2].tolist() == [1, 2], (
        f"the first row lists blocks 1 and 2, but your indices begin with {numbers[0, :2].tolist()}"
    )


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 999), rows=st.integers(1, 5), columns=st.integers(1, 20))
def test_indices_name_the_blocks(seed: int, rows: int, columns: int) -> None:
    """Blocks are listed from left to right, followed by valid column indices."""
    which = torch.rand(rows, columns, generator=torch.Generator().manual_seed(seed)) < 0.6
    counts, numbers = indices(which)
    for row, count, yours in zip(which, counts.tolist(), numbers.tolist(), strict=True):
        right = row.nonzero()[:, 0].tolist()
        named = yours[:count]
        assert named == right, f"row {row.int().tolist()}: your list is {named}, expected {right}"
        inside = all(0 <= number < columns for number in yours)
        assert inside, f"row {row.int().tolist()}: yours {yours}, expected only column indices"


@settings(max_examples=25, deadline=None)
@given(
    mod=st.sampled_from(MODS),
    queries=st.integers(1, 40),
    keys=st.integers(1, 40),
    size=st.integers(2, 9),
)
@example(mod=causal, queries=10, keys=10, size=4)
@example(mod=dice, queries=40, keys=33, size=2)
@example(mod=everything, queries=1, keys=1, size=2)
def test_the_same_blocks_as_pytorch(mod: Any, queries: int, keys: int, size: int) -> None:
    """Counts and indices equal those of create_block_mask."""
    what = f"{mod.__name__}, {queries} queries, {keys} keys, blocks of {size}"
    right = create_block_mask(mod, None, None, queries, keys, device="cpu", BLOCK_SIZE=size)
    parts = blocks(mod, queries, keys, size)
    for kind, which in zip(("partial", "full"), parts, strict=True):
        prefixed = "kv" if kind == "partial" else "full_kv"
        counts = getattr(right, f"{prefixed}_num_blocks")[0, 0].tolist()
        numbers = getattr(right, f"{prefixed}_indices")[0, 0].tolist()
        wanted = [row[:count] for count, row in zip(counts, numbers, strict=True)]
        yours = [row.nonzero()[:, 0].tolist() for row in which]
        assert yours == wanted, f"{what}: your {kind} blocks {yours}, PyTorch's {wanted}"


def test_it_is_not_asked_of_pytorch() -> None:
    """The blocks come from your code."""
    with forbids(
        k08_block_mask,
        "torch.nn.attention.flex_attention.create_block_mask",
        "torch.nn.attention.flex_attention._convert_mask_to_block_mask",
    ) as fresh:
        fresh.blocks(causal, 8, 8, 4)


def test_attention_takes_it() -> None:
    """A BlockMask of your blocks gives what create_block_mask gives."""
    dice = torch.Generator().manual_seed(3)
    q, k, v = torch.randn(3, 1, 1, 40, 4, generator=dice)
    yours = block_mask(document, 40, 40, 8)
    right = create_block_mask(document, None, None, 40, 40, device="cpu", BLOCK_SIZE=8)
    dense = [each.to_dense()[0, 0].tolist() for each in (yours, right)]
    assert dense[0] == dense[1], f"your blocks {dense[0]}, PyTorch's {dense[1]}"
    results = [flex_attention(q, k, v, block_mask=each) for each in (yours, right)]
    torch.testing.assert_close(*results, msg=lambda text: f"attention with your blocks: {text}")
