"""Tests of k09_eager_hides: what the blocks allow, compared with what mask_mod allows."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.attention.flex_attention import BlockMask
from torch.nn.attention.flex_attention import create_block_mask
from torch.nn.attention.flex_attention import flex_attention

from katas.lecture24.k09_eager_hides import both
from katas.lecture24.k09_eager_hides import either
from katas.lecture24.k09_eager_hides import obeyed
from plugins.kit import unchanged


# Without torch.compile, FlexAttention warns that it computes all scores.
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without")

QUERIES, KEYS, SIZE = 22, 27, 4
DOCUMENT = torch.tensor([0] * 9 + [1] * 3 + [2] * 15)


def causal(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
    """Allow keys that are not after the query."""
    return query >= key


def window(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
    """Allow nearby keys, before and after."""
    return (query - key).abs() < 7


def document(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
    """Allow tokens of the same document."""
    return DOCUMENT[query] == DOCUMENT[key]


def prefix(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
    """Allow the first ten keys."""
    return (key < 10) & (query >= 0)


def late(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
    """Allow all keys from the sixth query on."""
    return (query >= 5) & (key >= 0)


def nothing(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
    """Allow no pair."""
    return query + key < 0


PAIRS = [
    (causal, document),
    (document, causal),
    (window, causal),
    (prefix, late),
    (late, window),
    (causal, nothing),
    (causal, prefix),
    (prefix, causal),
]


def mask_of(mod: Any, queries: int = QUERIES, keys: int = KEYS, size: Any = SIZE) -> BlockMask:
    """Return PyTorch's block mask."""
    return create_block_mask(mod, None, None, queries, keys, device="cpu", BLOCK_SIZE=size)


def pairs(mod: Any, queries: int = QUERIES, keys: int = KEYS) -> torch.Tensor:
    """Return mask_mod of all pairs, bool [queries, keys]."""
    zero = torch.tensor(0)
    found: torch.Tensor = mod(zero, zero, torch.arange(queries)[:, None], torch.arange(keys))
    return found.expand(queries, keys)


def listed(mask: BlockMask) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Return (row, column) of partial and of full blocks; none is listed twice."""
    found = []
    for kind in ("kv", "full_kv"):
        counts = getattr(mask, f"{kind}_num_blocks")[0, 0].tolist()
        numbers = getattr(mask, f"{kind}_indices")[0, 0].tolist()
        rows = enumerate(zip(counts, numbers, strict=True))
        found.append({(row, n) for row, (count, line) in rows for n in line[:count]})
    return found[0], found[1]


def applied(mask: BlockMask, truth: torch.Tensor) -> torch.Tensor:
    """Return the mask that a compiled kernel applies, block by block."""
    result = torch.zeros_like(truth)
    for full, which in enumerate(listed(mask)):
        for row, column in which:
            place = (
                slice(row * SIZE, row * SIZE + SIZE),
                slice(column * SIZE, column * SIZE + SIZE),
            )
            result[place] = True if full else truth[place]
    return result


def lines(mask: torch.Tensor) -> str:
    """Return a mask as text."""
    return "\n".join("".join(".#"[x] for x in row) for row in mask.int().tolist())


def same(yours: torch.Tensor, right: torch.Tensor, what: str) -> None:
    """Compare two masks."""
    __tracebackhide__ = True
    assert yours.dtype == torch.bool, f"{what}: yours is {yours.dtype}, expected torch.bool"
    shapes = list(yours.shape), list(right.shape)
    assert shapes[0] == shapes[1], f"{what}: your shape is {shapes[0]}, expected {shapes[1]}"
    if not torch.equal(yours, right):
        raise AssertionError(
            f"{what}: differs first at [query, key] {(yours ^ right).nonzero()[0].tolist()}, "
            f"{'allowed' if yours[yours ^ right][0] else 'not allowed'} in yours, but should"
            f" {'not ' if yours[yours ^ right][0] else ''}be\n"
            f"yours:\n{lines(yours)}\nexpected:\n{lines(right)}"
        )


def agree(mask: BlockMask, right: torch.Tensor, what: str) -> None:
    """Check what mask_mod allows, and what the blocks allow."""
    __tracebackhide__ = True
    same(pairs(mask.mask_mod), right, f"{what}, mask_mod")
    partial, full = listed(mask)
    twice = sorted(partial & full)
    assert not twice, (
        f"{what}: blocks {twice} are listed as partial and as full, so they are read twice"
    )
    same(applied(mask, right), right, f"{what}, as the blocks say (compiled)")


def test_obeyed_of_an_agreeing_mask() -> None:
    """For eight causal tokens in blocks of four, the mask equals mask_mod."""
    mask = mask_of(causal, 8, 8)
    same(obeyed(mask), pairs(causal, 8, 8), "causal, 8 tokens")


def test_obeyed_of_full_and_missing_blocks() -> None:
    """If blocks disagree with mask_mod, it is called only in partial ones."""
    one = torch.ones(1, 1, 2, dtype=torch.int32)
    partial = torch.tensor([[[[0, 1], [1, 0]]]], dtype=torch.int32)
    full = torch.tensor([[[[1, 0], [1, 0]]]], dtype=torch.int32)
    mask = BlockMask.from_kv_blocks(
        one, partial, one * torch.tensor([1, 0], dtype=torch.int32), full, 2, causal, (4, 4)
    )
    right = torch.tensor([[1, 0, 1, 1], [1, 1, 1, 1], [0, 0, 1, 0], [0, 0, 1, 1]]).bool()
    same(obeyed(mask), right, "partial blocks (0, 0) and (1, 1), full (0, 1), causal")


@pytest.mark.parametrize("size", [(4, 3), (2, 5)], ids=["4x3", "2x5"])
@pytest.mark.parametrize("mod", [causal, document, late])
def test_obeyed_of_a_ragged_mask(mod: Any, size: tuple[int, int]) -> None:
    """Blocks need not divide the sequence, and need not be square."""
    mask = mask_of(mod, size=size)
    same(obeyed(mask), pairs(mod), f"{mod.__name__}, blocks of {size}")


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_both_agrees_with_itself(left: Any, right: Any) -> None:
    """Compiled, a mask from `both` allows what both allow."""
    masks = mask_of(left), mask_of(right)
    mask, truth = both(*masks), pairs(left) & pairs(right)
    what = f"both({left.__name__}, {right.__name__})"
    agree(mask, truth, what)
    same(obeyed(mask), truth, f"obeyed({what})")


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_either_agrees_with_itself(left: Any, right: Any) -> None:
    """Compiled, a mask from `either` allows what one of them allows."""
    masks = mask_of(left), mask_of(right)
    mask, truth = either(*masks), pairs(left) | pairs(right)
    what = f"either({left.__name__}, {right.__name__})"
    agree(mask, truth, what)
    same(obeyed(mask), truth, f"obeyed({what})")


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_no_block_is_read_for_nothing(left: Any, right: Any) -> None:
    """Blocks that are skipped stay skipped, and full ones stay full."""
    masks = mask_of(left), mask_of(right)
    (some, full), (others, fuller) = (listed(each) for each in masks)
    for combine, may, must in (
        (both, (some | full) & (others | fuller), full & fuller),
        (either, some | full | others | fuller, full | fuller),
    ):
        mask = combine(*masks)
        what = f"{combine.__name__}({left.__name__}, {right.__name__})"
        yours, whole = listed(mask)
        extra, asked = sorted((yours | whole) - may), sorted(must - whole)
        assert not extra, f"{what} reads blocks {extra}, but they allow nothing"
        assert not asked, f"{what} calls mask_mod in blocks {asked}, but they are full"
        pair = int(obeyed(mask).sum())
        assert pair == int(applied(mask, pairs(mask.mask_mod)).sum()), (
            f"obeyed({what}) differs from what a kernel applies"
        )


def test_masks_are_left_alone() -> None:
    """Both masks stay as they were."""
    masks = {"left": mask_of(causal), "right": mask_of(document)}
    parts = {
        f"{name}.{part}": getattr(mask, part)
        for name, mask in masks.items()
        for part in ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
    }
    with unchanged(**parts):
        made = both(**masks), either(**masks)
        for each in made:
            obeyed(each)


def test_eager_cannot_tell() -> None:
    """Attention without any blocks is correct in eager, which hides the bug."""
    dice = torch.Generator().manual_seed(9)
    q, k = torch.randn(1, 1, 8, 4, generator=dice), torch.randn(1, 1, 8, 4, generator=dice)
    mask = mask_of(causal, 8, 8)
    none = torch.zeros_like(mask.kv_num_blocks)
    empty = BlockMask.from_kv_blocks(
        none, mask.kv_indices, none, mask.full_kv_indices, SIZE, causal, (8, 8)
    )
    results = [flex_attention(q, k, k, block_mask=each) for each in (mask, empty)]
    torch.testing.assert_close(*results, msg=lambda text: f"eager attention: {text}")
    yours = int(obeyed(empty).sum())
    assert yours == 0, f"no block is read, but your mask allows {yours} pairs, expected none"
