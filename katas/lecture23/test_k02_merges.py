"""Tests of k02_merges: a loop over the tokens gives the same merges, and tiktoken the same ids."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture23 import k02_merges as kata
from katas.lecture23.k02_merges import encode
from katas.lecture23.k02_merges import merge
from katas.lecture23.k02_merges import most_frequent
from katas.lecture23.k02_merges import train
from katas.lecture23.k02_merges import vocabulary
from plugins.kit import forbids
from plugins.kit import unchanged


TEXT = "low lower lowest; new newer newest; aaah, aaaah, wide wider widest, slow slower slowest"


def ids_of(text: str | bytes) -> torch.Tensor:
    """Return the bytes of a text as int64."""
    raw = text.encode() if isinstance(text, str) else text
    return torch.tensor(list(raw), dtype=torch.int64)


def loop(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """Merge token by token."""
    merged: list[int] = []
    for token in ids:
        if merged and (merged[-1], token) == pair:
            merged[-1] = new
        else:
            merged.append(token)
    return merged


def by_rank(ids: list[int], merges: list[tuple[int, int]]) -> list[int]:
    """Merge the pair that was learned first among those present, until none is left."""
    ranks = {pair: number for number, pair in enumerate(merges)}
    while there := [ranks[p] for p in pairwise(ids) if p in ranks]:
        ids = loop(ids, merges[min(there)], 256 + min(there))
    return ids


def merged(ids: list[int], pair: tuple[int, int], new: int = 9) -> None:
    """Compare with the loop."""
    __tracebackhide__ = True
    yours, right = merge(torch.tensor(ids, dtype=torch.int64), pair, new), loop(ids, pair, new)
    assert yours.tolist() == right, (
        f"{ids}, where {pair} becomes {new}: yours {yours.tolist()}, expected {right}"
    )


def test_two_pairs() -> None:
    """The text of the brief, and its second merge; the right token of a pair is removed."""
    merged([97, 98, 97, 98, 99, 97, 98], (97, 98), 256)
    merged([256, 256, 99, 256], (256, 256), 257)


def test_a_pair_has_an_order() -> None:
    """(1, 2) is not (2, 1), and neither is 1 or 2 alone."""
    merged([2, 1, 2, 1, 1, 2, 2, 3, 1], (1, 2))


def test_three_in_a_row() -> None:
    """From left to right, `aaa` becomes X a, four become X X, and five X X a."""
    for count in (2, 3, 4, 5, 6):
        merged([1] * count, (1, 1))


def test_each_run_counts_from_its_own_start() -> None:
    """Runs may begin at an odd or an even index, and have an odd or an even length."""
    merged([0, 1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1], (1, 1))
    merged([1, 0, 1, 1, 0, 1, 1, 1], (1, 1))


@pytest.mark.parametrize("ids", [[], [1], [1, 1], [2, 3, 4]], ids=["none", "one", "two", "three"])
def test_short_texts(ids: list[int]) -> None:
    """No id, one id, a pair, and nothing to merge; the input is not modified."""
    x = torch.tensor(ids, dtype=torch.int64)
    with unchanged(x=x):
        yours = merge(x, (1, 1), 9)

    right = loop(ids, (1, 1), 9)
    assert yours.tolist() == right, f"{ids}: yours {yours.tolist()}, expected {right}"
    assert yours.dtype == torch.int64, f"{ids}: yours is {yours.dtype}, expected torch.int64"


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=30), st.integers(0, 2), st.integers(0, 2))
@example([1, 1, 1, 2, 1, 1], 1, 1)
def test_as_a_loop_merges(ids: list[int], left: int, right: int) -> None:
    """Compare with a loop for any text of four ids and any pair."""
    merged(ids, (left, right))


def test_the_most_frequent_pair() -> None:
    """Each pair counts, even where two of them overlap."""
    for ids, expected in (
        ([5, 6, 5, 6, 6, 5, 6], (5, 6)),
        ([1, 2, 1, 2, 7, 7, 7, 7], (7, 7)),
        ([2, 300, 2, 300, 3, 44], (2, 300)),
        ([3, 44, 3, 44, 2, 300], (3, 44)),
        ([2, 70000, 2, 70000, 3], (2, 70000)),
        ([0, 0], (0, 0)),
    ):
        yours = most_frequent(torch.tensor(ids))
        assert yours == expected, (
            f"for {ids} your code returns {yours}, expected {expected}; ids may be large: does"
            " each pair get a number of its own?"
        )
        kinds = {type(each) for each in yours}
        assert kinds == {int}, (
            f"your code returns {kinds}, expected Python ints: a merge is compared with =="
        )


def test_of_equally_frequent_pairs() -> None:
    """The smallest left id decides, then the smallest right, wherever they are in the text."""
    for ids, expected in (([9, 1, 3, 9, 1, 3], (1, 3)), ([4, 8, 0, 4, 2, 0, 5, 6], (0, 4))):
        yours = most_frequent(torch.tensor(ids))
        assert yours == expected, (
            f"in {ids} several pairs are equally frequent: yours {yours}, expected {expected}"
        )


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=30))
def test_as_a_counter_counts(ids: list[int]) -> None:
    """Compare with a Counter for any text of five ids."""
    counts = Counter(pairwise(ids))
    right = min(counts, key=lambda pair: (-counts[pair], pair))
    yours = most_frequent(torch.tensor(ids))
    assert yours == right, f"for {ids}: yours {yours}, expected {right}, out of {counts}"


def test_the_merges_of_a_text() -> None:
    """Train with your functions, and show each merge with its bytes."""
    merges = train(ids_of(TEXT), 12)
    words = vocabulary(merges)[256:]
    lines = (
        f"{256 + n} {p!s:10} {w.decode()!r}"
        for n, (p, w) in enumerate(zip(merges, words, strict=True))
    )
    assert_expected_inline(
        "\n".join(lines),
        """\
256 (108, 111) 'lo'
257 (119, 101) 'we'
258 (97, 97)   'aa'
259 (114, 32)  'r '
260 (115, 116) 'st'
261 (256, 257) 'lowe'
262 (44, 32)   ', '
263 (100, 101) 'de'
264 (105, 263) 'ide'
265 (110, 101) 'ne'
266 (119, 32)  'w '
267 (119, 264) 'wide'""",
    )


def test_encode_another_text() -> None:
    """The result is that of always merging the pair learned first; ids may be uint8 bytes."""
    for kind in (torch.int64, torch.uint8):
        none = encode(torch.tensor([97], dtype=kind), [])
        assert none.dtype == torch.int64, (
            f"ids of {kind}: yours is {none.dtype}, expected torch.int64: uint8 cannot hold 256"
        )
    merges = train(ids_of(TEXT), 25)
    for text in ("lowest newest widest", "aaaaaaah", "", "w", "slowly, newly"):
        x = ids_of(text)
        with unchanged(x=x):
            yours = encode(x, merges).tolist()
        right = by_rank([*text.encode()], merges)
        assert yours == right, f"{text!r}: yours {yours}, expected {right}"
        small = encode(x.byte(), merges).tolist()
        assert small == right, f"{text!r} as uint8: yours {small}, expected {right}"
        back = b"".join(vocabulary(merges)[token] for token in yours)
        assert back == text.encode(), f"{text!r} decodes to {back!r}"


class Count(TorchDispatchMode):
    """Counts operators."""

    calls = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Count one."""
        self.calls += 1
        return func(*args, **(kwargs or {}))


def test_as_many_operators_for_a_long_text() -> None:
    """A merge of 1,000 tokens takes as many operators as one of 10, and creates no list."""
    with forbids(kata, "torch.Tensor.tolist", "torch.Tensor.numpy") as fresh:
        counts = []
        for times in (2, 200):
            x = torch.tensor([1, 1, 1, 2, 3] * times)
            with Count() as mode:  # type: ignore[no-untyped-call, unused-ignore]
                fresh.merge(x, fresh.most_frequent(x), 9)
            counts.append(mode.calls)

    assert counts[0] == counts[1], (
        f"operators for 10 tokens {counts[0]}, for 1,000 tokens {counts[1]}, expected the same"
    )


@pytest.mark.backend("tiktoken")
def test_tiktoken_agrees() -> None:
    """Compare with an Encoding of your merges, for texts that are not split into words."""
    import tiktoken  # noqa: PLC0415 - optional

    merges = train(ids_of(TEXT), 40)
    ranks = {word: number for number, word in enumerate(vocabulary(merges))}
    theirs = tiktoken.Encoding("kata", pat_str=r"(?s).+", mergeable_ranks=ranks, special_tokens={})
    for text in (TEXT, "lowest newest widest", "aaaaaaah", "slower, é"):
        yours, right = encode(ids_of(text), merges).tolist(), theirs.encode(text)
        assert yours == right, f"{text!r}: yours {yours}, tiktoken's {right}"
