"""Tests of k14_pairs: str.replace, which also works from left to right, is the oracle."""

from __future__ import annotations

import zlib
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture06.k14_pairs import Pair
from katas.lecture06.k14_pairs import decode
from katas.lecture06.k14_pairs import encode
from katas.lecture06.k14_pairs import merge
from katas.lecture06.k14_pairs import train


TEXT = ("the cat sat on the mat, and the other cat on the other mat: " * 3).encode()


def replaced(tokens: list[int], pair: Pair, new: int) -> list[int]:
    """Merge by replacing text, with one letter for each token."""
    letters = "".join(map(chr, tokens)).replace(chr(pair[0]) + chr(pair[1]), chr(new))
    return list(map(ord, letters))


def check_merge(tokens: list[int], pair: Pair, new: int) -> None:
    """Compare your merge with the replaced text, and check that the input list is unchanged."""
    given_tokens = list(tokens)
    yours, expected = merge(given_tokens, pair, new), replaced(tokens, pair, new)

    assert yours == expected, f"{pair} in {tokens}: yours {yours}, expected {expected}"
    assert tokens == given_tokens, f"your function changed the caller's list to {given_tokens}"


def check_train(data: bytes, count: int) -> None:
    """Follow your merges, and check that each was the right choice."""
    merges = train(data, count)
    tokens = list(data)
    for number, yours in enumerate(merges):
        pairs = Counter(pairwise(tokens))
        most = max(pairs.values(), default=0)
        expected = min((pair for pair in pairs if pairs[pair] == most), default=None)
        assert most > 1, (
            f"{data!r}: your merge {number} is {yours}, but no pair occurs twice any more"
        )
        assert yours == expected, (
            f"{data!r}: your merge {number} is {yours} ({pairs[yours]} times), expected {expected}"
            f" ({most} times): the most frequent pair, and in a tie the smallest"
        )
        tokens = replaced(tokens, yours, 256 + number)
    left = max(Counter(pairwise(tokens)).values(), default=0)

    assert len(merges) <= count, (
        f"{data!r}: yours has {len(merges)} merges, expected at most {count}"
    )
    assert len(merges) == count or left < 2, (
        f"{data!r}: train stops after {len(merges)} of {count} merges, but a pair still occurs"
        f" {left} times"
    )


def test_a_pair_becomes_a_token() -> None:
    """The pair is replaced wherever it occurs."""
    check_merge([1, 2, 3, 1, 2], (1, 2), 256)
    check_merge([1, 3, 2], (1, 2), 256)
    check_merge([], (1, 2), 256)
    # Tokens are numbers, not text: 11, 2 does not contain the pair 1, 2.
    check_merge([11, 2, 1, 21, 1, 2, 256, 12], (1, 2), 257)


def test_pairs_do_not_overlap() -> None:
    """Of three equal tokens the first two become a pair, and the third stays."""
    check_merge([1, 1, 1], (1, 1), 256)
    check_merge([1, 1, 1, 1, 1, 2], (1, 1), 256)


@given(st.lists(st.integers(0, 2), max_size=12), st.tuples(st.integers(0, 2), st.integers(0, 2)))
def test_any_merge(tokens: list[int], pair: Pair) -> None:
    """Any merge gives what replacing text gives."""
    check_merge(tokens, pair, 300)


def test_the_most_frequent_pair_comes_first() -> None:
    """After each merge, the pair that is now the most frequent comes next."""
    check_train(b"abababc", 1)
    check_train(b"abababc", 10)
    check_train(b"zyzyzyab" * 3, 4)


def test_ties_go_to_the_smallest_pair() -> None:
    """A tie goes to the smallest pair, by first then second token, not to the one seen first."""
    check_train(b"xyxy.abab", 1)
    check_train(b"ab.ac.ab.ac.", 3)


def test_tokens_are_bytes() -> None:
    """Tokens are all 256 bytes, not letters, even if the data is not text."""
    check_train("naïve ï, 猫が猫".encode(), 20)
    check_train(b"\xff\x80\xff\x80\xc3\xff\x80", 3)
    check_train(bytes(range(256)) * 3, 1000)


def test_it_ends_where_no_pair_is_there_twice() -> None:
    """Merging a pair that occurs only once saves nothing."""
    for data in (b"", b"a", b"abc", b"aaa", b"aaaa"):
        check_train(data, 10)


@pytest.mark.parametrize("count", [0, 1, 7, 200])
def test_a_text(count: int) -> None:
    """Training makes at most as many merges as asked for, and decoding undoes encoding."""
    check_train(TEXT, count)
    train(TEXT, count).append((0, 0))
    merges = train(TEXT, count)
    assert (0, 0) not in merges, (
        "the caller changed the list that your function returned, and the next call returned the"
        " changed list"
    )
    tokens = encode(TEXT, merges)
    assert decode(tokens, merges) == TEXT, "encoding and decoding changed the text"
    other = "naïve 猫".encode()
    assert decode(encode(other, merges), merges) == other, (
        "encoding and decoding changed a text that was not trained on"
    )
    print(len(TEXT), "bytes,", len(tokens), "tokens,", len(zlib.compress(TEXT)), "zipped")  # noqa: T201


@given(st.binary(max_size=20).map(lambda data: bytes(each % 3 for each in data)))
def test_any_bytes(data: bytes) -> None:
    """Few values make for many ties and repeats."""
    check_train(data, 5)
