"""Tests of k09_cache: compared with cat, bytes of new storages counted, and views kept."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from katas.lecture23.k09_cache import Cache
from plugins.kit import freed
from plugins.kit import unchanged


# Bytes of one token: keys and values, batch 2, 3 heads, dim 4, float64.
TOKEN = 2 * 2 * 3 * 4 * 8


def tokens(count: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Any:
    """Return keys and values of some tokens, [2, 3, count, 4], that are not contiguous."""
    dice = torch.Generator().manual_seed(seed)
    both = torch.randn(2, 2, count, 3, 4, dtype=torch.float64, generator=dice)
    return tuple(both.transpose(2, 3).to(dtype))


def same(yours: Any, right: Any, what: str) -> None:
    """Compare a pair of keys and values bit for bit."""
    __tracebackhide__ = True
    for name, found, wanted in zip(("keys", "values"), yours, right, strict=True):
        assert found.shape == wanted.shape, (
            f"{what}: your {name} are {list(found.shape)}, expected {list(wanted.shape)}"
        )
        assert found.dtype == wanted.dtype, f"{what}: your {name} are {found.dtype}"
        equal = torch.equal(found, wanted)
        assert equal, f"{what}: your {name} differ from those appended"


def grown(*parts: Any) -> Any:
    """Return all keys and all values, by cat."""
    return tuple(torch.cat(list(each), 2) for each in zip(*parts, strict=True))


class Allocated(TorchDispatchMode):
    """Adds up the bytes of storages that operators create."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator, and count what its outputs do not share with its inputs."""
        out = func(*args, **(kwargs or {}))
        known = {
            x.untyped_storage().data_ptr()
            for x in tree_leaves((args, kwargs))
            if isinstance(x, torch.Tensor)
        }
        for x in tree_leaves(out):
            if isinstance(x, torch.Tensor) and x.untyped_storage().data_ptr() not in known:
                known.add(x.untyped_storage().data_ptr())
                self.bytes += x.untyped_storage().nbytes()
        return out


def test_first_tokens() -> None:
    """Three tokens are appended, and returned unchanged; the inputs are not modified."""
    for dtype in (torch.float64, torch.bfloat16):
        k, v = tokens(3, dtype=dtype)
        with unchanged(k=k, v=v):
            yours = Cache(8).append(k, v)
        same(yours, (k, v), f"3 tokens of {dtype}")


def test_one_after_the_other() -> None:
    """Each append returns all tokens so far, in order."""
    cache, parts = Cache(16), []
    for step, count in enumerate((3, 1, 1, 2)):
        parts.append(tokens(count, seed=step))
        same(cache.append(*parts[-1]), grown(*parts), f"after append number {step + 1}")
    assert cache.length == 7, f"7 tokens were appended, but length is {cache.length}"


def test_no_copy_where_there_is_room() -> None:
    """With room for 16, 16 tokens take one storage for keys and one for values."""
    cache, parts = Cache(16), [tokens(1, seed=i) for i in range(16)]
    with Allocated() as made:
        results = [cache.append(*part) for part in parts]
    by_cat = TOKEN * 16 * 17 // 2

    assert made.bytes == 16 * TOKEN, (
        f"16 tokens with room for 16: you allocated {made.bytes} bytes, expected {16 * TOKEN};"
        f" by cat it is {by_cat}"
    )
    for which, name in enumerate(("keys", "values")):
        places = {pair[which].data_ptr() for pair in results}
        assert len(places) == 1, (
            f"the {name} of 16 results begin at {len(places)} addresses, expected one"
        )


def test_room_doubles() -> None:
    """With room for 2, 64 tokens, one by one, take storages of 2, 4, ... and 64 tokens."""
    cache, parts = Cache(2), [tokens(1, seed=i) for i in range(64)]
    with Allocated() as made:
        for part in parts:
            yours = cache.append(*part)
    same(yours, grown(*parts), "64 tokens, with room for 2 at first")
    expected, by_cat = TOKEN * 126, TOKEN * 64 * 65 // 2
    assert made.bytes == expected, (
        f"you allocated {made.bytes} bytes, expected {expected}; by cat it is {by_cat}"
    )


@pytest.mark.time_limit(5)
def test_many_tokens_at_once() -> None:
    """A prompt of 9 with room for 2 doubles the room until it fits: 16, in one storage each."""
    cache, first, prompt = Cache(2), tokens(1), tokens(9, seed=1)
    cache.append(*first)
    with Allocated() as made:
        yours = cache.append(*prompt)
    same(yours, grown(first, prompt), "1 token and 9")
    assert made.bytes == 16 * TOKEN, (
        f"10 tokens, room for 2: you allocated {made.bytes} bytes, expected {16 * TOKEN}: room 16"
    )
    full, eight = Cache(8), tokens(8)
    with Allocated() as made:
        full.append(*eight)
    assert made.bytes == 8 * TOKEN, (
        f"8 tokens into room for 8: you allocated {made.bytes} bytes, expected {8 * TOKEN}"
    )


def test_what_was_returned_stays() -> None:
    """Later tokens are past the end of earlier views, or in a different storage."""
    cache, parts, results = Cache(2), [], []
    for step in range(9):
        parts.append(tokens(1, seed=step))
        results.append(cache.append(*parts[-1]))
    for step, yours in enumerate(results):
        same(yours, grown(*parts[: step + 1]), f"result {step + 1}, after all 9 appends")


def test_crop_takes_tokens_back() -> None:
    """After crop(2) the next token is number 3, and nothing is allocated for crop."""
    cache, first, wrong, right = Cache(8), tokens(2), tokens(3, seed=1), tokens(1, seed=2)
    cache.append(*first)
    cache.append(*wrong)
    with Allocated() as made:
        cache.crop(2)
    assert made.bytes == 0, f"crop allocated {made.bytes} bytes, expected none"
    assert cache.length == 2, f"length after crop(2) is {cache.length}, expected 2"
    same(cache.append(*right), grown(first, right), "2 tokens, 3 that were cropped, and 1")


def test_crop_and_who_still_looks() -> None:
    """After a crop, the next token's slot was handed out before: the old view must not change."""
    cache, first, more = Cache(8), tokens(5), tokens(1, seed=2)
    seen = cache.append(*first)
    cache.crop(3)
    yours = cache.append(*more)

    same(seen, first, "what was returned before crop(3) and one more append")
    same(yours, grown([x[:, :, :3] for x in first], more), "3 of 5 tokens, and one more")


def test_one_move_for_one_crop() -> None:
    """After the move, tokens are written in place again; a second crop is a second move."""
    cache, first = Cache(8), tokens(6)
    later = [tokens(1, seed=step) for step in range(5)]
    cache.append(*first)
    for again in (1, 2):
        cache.crop(2)
        with Allocated() as made:
            for part in later:
                yours = cache.append(*part)
        same(yours, grown([x[:, :, :2] for x in first], *later), f"after crop(2) number {again}")
        assert made.bytes == 8 * TOKEN, (
            f"crop(2) number {again}, then 5 tokens: you allocated {made.bytes} bytes, expected"
            f" {8 * TOKEN}: one storage of the same room, and no other"
        )


def test_crop_to_the_end_moves_nothing() -> None:
    """crop(length) forgets nothing, so the next token is written in place."""
    cache, first = Cache(8), tokens(4)
    before, _ = cache.append(*first)
    cache.crop(4)
    part = tokens(1, seed=3)
    with Allocated() as made:
        after, _ = cache.append(*part)
    assert made.bytes == 0, (
        f"crop(4) of 4 tokens, then one more: you allocated {made.bytes} bytes, expected 0"
    )
    assert after.data_ptr() == before.data_ptr(), "the keys moved to a different storage"


def test_crop_and_no_room() -> None:
    """After a crop, many tokens arrive: old tokens come first, and old views do not change."""
    cache, first, more = Cache(4), tokens(4), tokens(6, seed=1)
    seen = cache.append(*first)
    cache.crop(1)
    with Allocated() as made:
        yours = cache.append(*more)
    same(yours, grown([x[:, :, :1] for x in first], more), "1 of 4, and 6 more")
    same(seen, first, "what was returned before")
    assert made.bytes == 8 * TOKEN, (
        f"crop(1) of 4, then 6 tokens, room for 4: you allocated {made.bytes} bytes, expected"
        f" {8 * TOKEN}: one move, to the doubled room"
    )


def test_no_graph() -> None:
    """Only values are kept: not the graph, what it saves, or its leaves."""
    cache = Cache(4)

    def appended() -> Any:
        leaves = [x.requires_grad_() for x in tokens(1)]
        k, v = (x.sin() for x in leaves)
        yours = cache.append(k, v)
        assert not any(x.requires_grad for x in yours), (
            "your keys or values require grad, expected no graph"
        )
        return k, v, *leaves

    freed(
        appended,
        "the cache is alive, and must keep values without a graph: has what you write to"
        " become part of one?",
    )


def test_two_caches() -> None:
    """Two layers have two caches, which share nothing."""
    one, two = Cache(4), Cache(4)
    seen = one.append(*tokens(2))
    two.append(*tokens(3, seed=1))
    same(seen, tokens(2), "the first cache, after an append to the second")
    assert (one.length, two.length) == (2, 3), (
        f"lengths are {one.length} and {two.length}, expected 2 and 3"
    )
