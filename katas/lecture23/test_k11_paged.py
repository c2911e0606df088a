"""Tests of k11_paged: maps of pages, and attention of each sequence on its own."""

from __future__ import annotations

import torch
from expecttest import assert_expected_inline
from torch.nn.functional import scaled_dot_product_attention

from katas.lecture23.k11_paged import Pages
from plugins.kit import unchanged
from plugins.kit import watched_operators


HEADS, DIM = 2, 4


def numbers(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational float64 values."""
    dice = torch.Generator().manual_seed(seed)
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def tokens(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return keys and values of some tokens, [count, HEADS, DIM]."""
    k, v = numbers(2, count, HEADS, DIM, seed=seed)
    return k, v


def alone(q: torch.Tensor, parts: list[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
    """Return what one query reads in all tokens of its sequence."""
    k, v = (torch.cat(list(each)).transpose(0, 1) for each in zip(*parts, strict=True))
    return scaled_dot_product_attention(q[:, None], k, v)[:, 0]


def same(yours: torch.Tensor, right: torch.Tensor, what: str) -> None:
    """Compare to twelve digits."""
    __tracebackhide__ = True
    assert yours.shape == right.shape, (
        f"{what}: your shape is {list(yours.shape)}, expected {list(right.shape)}"
    )
    off = (yours - right).abs().max().item()
    close = torch.allclose(yours, right, rtol=1e-12, atol=1e-12)
    assert close, (
        f"{what}: off by up to {off:.3g}; yours {yours.flatten()[:4].tolist()}..., expected"
        f" {right.flatten()[:4].tolist()}..."
    )


def test_one_token() -> None:
    """The token goes to the lowest free page, slot 0."""
    pages = Pages(2, 4, 2, HEADS, DIM)
    k, v = tokens(1, 1)
    with unchanged(k=k, v=v):
        pages.append(1, k, v)

    found = (pages.table.tolist(), pages.lengths.tolist(), sorted(pages.free))
    right = ([[-1] * 4, [0, -1, -1, -1]], [0, 1], [1, 2, 3])
    assert found == right, f"table, lengths and free pages: yours {found}, expected {right}"
    same(pages.keys[0, 0], k[0], "keys[0, 0]")
    same(pages.values[0, 0], v[0], "values[0, 0]")


def test_the_plan() -> None:
    """Two sequences grow by turns; a page is taken when its first token arrives."""
    pages = Pages(3, 8, 2, HEADS, DIM)
    for row, count in ((0, 2), (1, 2), (0, 3), (1, 1), (2, 4)):
        pages.append(row, *tokens(count, row))
    assert_expected_inline(
        pages.show(),
        """\
0: a0 a1
1: b0 b1
2: a2 a3
3: a4 .
4: b2 .
5: c0 c1
6: c2 c3
7: . .""",
    )


def test_freed_pages_are_reused() -> None:
    """The lowest free page is taken first, whoever had it; a released sequence restarts at 0."""
    pages = Pages(3, 6, 2, HEADS, DIM)
    for row, count in ((0, 3), (1, 3), (2, 3)):
        pages.append(row, *tokens(count, row))
    pages.release(1)
    free, left = sorted(pages.free), pages.table[1].tolist()
    assert free == [2, 3], f"after release(1), pages {free} are free, expected [2, 3]"
    assert left == [-1] * 6, f"after release(1), its row of the table is {left}, expected all -1"
    length = pages.lengths[1].item()
    assert length == 0, f"after release(1), lengths[1] is {length}, expected 0"
    pages.release(0)
    pages.append(2, *tokens(2, 5))
    taken = pages.table[2].tolist()
    assert taken == [4, 5, 0, -1, -1, -1], (
        f"pages 0 to 3 are free, and sequence 2 has pages 4 and 5 and needs one more: its row of"
        f" the table is {taken}, expected [4, 5, 0, -1, -1, -1]; take the lowest free page"
    )
    pages.append(1, *tokens(5, 6))
    assert_expected_inline(
        pages.show(),
        """\
0: c4 .
1: b0 b1
2: b2 b3
3: b4 .
4: c0 c1
5: c2 c3""",
    )


def test_each_token_is_in_its_slot() -> None:
    """New tokens begin in the middle of a page, and extend over two more."""
    pages = Pages(2, 8, 3, HEADS, DIM)
    parts = [tokens(count, seed) for seed, count in enumerate((1, 4, 0, 2, 1))]
    for k, v in parts:
        pages.append(0, k, v)
        pages.append(1, v, k)
    k, v = (torch.cat(list(each)) for each in zip(*parts, strict=True))
    for row, right in enumerate((k, v)):
        for token in range(8):
            page = int(pages.table[row, token // 3])
            same(pages.keys[page, token % 3], right[token], f"key {token} of sequence {row}")
    counts = (pages.table >= 0).sum(1).tolist()
    assert counts == [3, 3], (
        f"8 tokens, 3 per page: your sequences have {counts} pages, expected 3 each"
    )


def test_a_full_page_takes_no_next_one() -> None:
    """Four tokens fill two pages of two; the fifth token takes the third page."""
    pages = Pages(1, 2, 2, HEADS, DIM)
    for seed in range(4):
        pages.append(0, *tokens(1, seed))
    pages.append(0, *tokens(0, 9))
    assert pages.table.tolist() == [[0, 1]], (
        f"your table is {pages.table.tolist()}, expected [[0, 1]]"
    )
    try:
        pages.append(0, *tokens(1, 4))
    except MemoryError:
        return
    raise AssertionError("two pages of two tokens held five tokens: expected MemoryError")


def test_attention_of_one_sequence() -> None:
    """All pages are full: no mask is needed."""
    pages = Pages(1, 2, 2, HEADS, DIM)
    part = tokens(4, 3)
    pages.append(0, *part)
    q = numbers(1, HEADS, DIM, seed=8)
    with unchanged(pages.keys, pages.values, pages.table, pages.lengths, q=q):
        yours = pages.attend(q)
    same(yours[0], alone(q[0], [part]), "one sequence of two full pages")


def test_attention_is_that_of_each_alone() -> None:
    """Lengths are 5, 1 and 4, pages are scattered, and free slots hold old tokens of others."""
    pages = Pages(3, 9, 2, HEADS, DIM)
    pages.append(0, *(100 * x for x in tokens(18, 30)))
    pages.release(0)
    plan = [(0, 2, 1), (2, 3, 2), (1, 1, 3), (0, 3, 4), (2, 1, 5)]
    parts: dict[int, list[tuple[torch.Tensor, torch.Tensor]]] = {}
    for row, count, seed in plan:
        parts.setdefault(row, []).append(tokens(count, seed))
        pages.append(row, *parts[row][-1])
    q = numbers(3, HEADS, DIM, seed=9)
    yours = pages.attend(q)
    for row in range(3):
        what = (
            f"sequence {row}, of {pages.lengths[row]} tokens: only the first `lengths` places count"
        )
        same(yours[row], alone(q[row], parts[row]), what)


def test_a_sequence_without_tokens() -> None:
    """Such a sequence reads 0, and does not affect other sequences."""
    pages = Pages(2, 3, 2, HEADS, DIM)
    part = tokens(3, 1)
    pages.append(1, *part)
    q = numbers(2, HEADS, DIM, seed=2)
    yours = pages.attend(q)
    same(
        yours[0],
        torch.zeros(HEADS, DIM, dtype=torch.float64),
        "a sequence of no tokens: only the first `lengths` places count",
    )
    same(yours[1], alone(q[1], [part]), "the other sequence, of 3")


def test_one_call_for_all_sequences() -> None:
    """Seven sequences take as many operators as two: no loop over rows, pages or tokens."""
    counts = []
    for count in (2, 7):
        pages = Pages(count, 20, 2, HEADS, DIM)
        for row in range(count):
            pages.append(row, *tokens(1 + row % 3, row))
        with watched_operators() as seen:
            pages.attend(numbers(count, HEADS, DIM))
        counts.append(len(list(seen)))
    assert counts[0] == counts[1], (
        f"attend runs {counts[0]} operators for 2 sequences, but {counts[1]} for 7: do not loop"
    )
