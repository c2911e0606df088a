"""Tests of k13_ring: shares of keys, compared with scaled_dot_product_attention over all keys."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st
from torch import distributed as dist
from torch.nn import functional as F

from katas.lecture14 import k13_ring as kata
from katas.lecture14.k13_ring import block
from katas.lecture14.k13_ring import merge
from katas.lecture14.k13_ring import ring
from plugins.kit import forbids
from plugins.kit import unchanged


pytestmark = [pytest.mark.backend("gloo"), pytest.mark.ranks_import("numpy.random")]
THEIRS = "torch.nn.functional.scaled_dot_product_attention"


def qkv(length: int, scale: float = 1.0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return irrational queries, keys and values, (3, length, 4) in float64."""
    count = 3 * length * 4
    numbers = torch.arange(2, 2 + 3 * count).double().sqrt()
    q, k, v = ((numbers * 7).sin() * 2).reshape(3, 3, length, 4)
    return q * scale, k, v


def seen(rows: int, columns: int) -> torch.Tensor:
    """Return a mask that hides nothing."""
    return torch.ones(rows, columns, dtype=torch.bool)


def check(yours: torch.Tensor, right: torch.Tensor, what: str) -> None:
    """Compare with what PyTorch computes from all keys."""
    __tracebackhide__ = True
    assert yours.shape == right.shape, f"{what}: yours {yours.shape}, PyTorch's {right.shape}"
    assert yours.dtype == right.dtype, f"{what}: yours {yours.dtype}, PyTorch's {right.dtype}"
    assert bool(yours.isfinite().all()), f"{what}: yours is not finite; which exp is too large?"
    apart = (yours - right).abs().max().item()
    assert apart <= 1e-12, f"{what}: yours is {apart:.2g} away from PyTorch's {THEIRS}"


def test_all_keys_in_one_block() -> None:
    """One block is ordinary attention, plus the log-sum-exp of the scores."""
    q, k, v = qkv(5)
    with forbids(kata, THEIRS) as mine, unchanged(q=q, k=k, v=v):
        yours, lse = mine.block(q, k, v, seen(5, 5))
    check(yours, F.scaled_dot_product_attention(q, k, v), "one block")
    check(lse, torch.logsumexp(q @ k.mT / 2, -1, keepdim=True), "lse")


def test_a_wider_query_and_value() -> None:
    """Scale by the root of d, whatever the width of v; keep leading dimensions."""
    q, k, v = (x.reshape(3, 2, 2, 5)[..., :3] for x in qkv(5))
    v = torch.cat([v, v.square()], -1)
    yours, lse = block(q, k, v, seen(2, 2))
    check(yours, F.scaled_dot_product_attention(q, k, v), "d is 3, v has 6")
    check(lse, torch.logsumexp(q @ k.mT / 3**0.5, -1, keepdim=True), "lse, d is 3")


def test_a_mask_hides_keys() -> None:
    """Masked keys count neither in the weights nor in lse."""
    q, k, v = qkv(5)
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    yours, lse = block(q, k, v, mask)
    check(yours, F.scaled_dot_product_attention(q, k, v, attn_mask=mask), "a causal mask")
    scores = (q @ k.mT / 2).masked_fill(~mask, -torch.inf)
    check(lse, torch.logsumexp(scores, -1, keepdim=True), "lse of what is seen")


def test_large_scores_are_finite() -> None:
    """Results are finite although the exponentials of the scores are not."""
    q, k, v = qkv(4, scale=1e4)
    with unchanged(q=q, k=k, v=v):
        yours, _ = block(q, k, v, seen(4, 4))
    check(yours, F.scaled_dot_product_attention(q, k, v), "scores of ten thousands")
    # A masked score may be the largest, and a visible one far below any fill value.
    mask = seen(4, 4).tril()
    with unchanged(mask=mask):
        yours, _ = block(q * 1e8, k, v, mask)
    right = F.scaled_dot_product_attention(q * 1e8, k, v, attn_mask=mask)
    check(yours, right, "a causal mask, and scores times 1e12")


@example(1, 1.0)
@example(4, 1e4)
@given(st.integers(1, 5), st.sampled_from([1.0, 1e-3, 1e4]))
def test_two_shares(cut: int, scale: float) -> None:
    """Split anywhere, merged in either order, with large scores and small ones."""
    q, k, v = qkv(6, scale)
    shares = [
        block(q, k[..., part, :], v[..., part, :], seen(6, n))
        for part, n in ((slice(cut), cut), (slice(cut, None), 6 - cut))
    ]
    right = F.scaled_dot_product_attention(q, k, v)
    with unchanged(shares=shares):
        one, other = merge(shares[0], shares[1]), merge(shares[1], shares[0])
    check(one[0], right, f"keys cut at {cut}, scores times {scale}")
    check(other[0], right, f"keys cut at {cut}, the later share first")
    check(one[1], block(q, k, v, seen(6, 6))[1], "lse of both")


def test_three_shares() -> None:
    """A merged result can be merged again."""
    q, k, v = qkv(6)
    total = block(q, k[..., :2, :], v[..., :2, :], seen(6, 2))
    for at in (2, 4):
        part = slice(at, at + 2)
        total = merge(total, block(q, k[..., part, :], v[..., part, :], seen(6, 2)))
    check(total[0], F.scaled_dot_product_attention(q, k, v), "three shares")


def attended(length: int, causal: str) -> torch.Tensor:
    """Call your function on a rank's share of the sequence, twice."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    q, k, v = (x.chunk(ranks, -2)[rank].contiguous() for x in qkv(length * ranks))
    with unchanged(q=q, k=k, v=v):
        first = ring(q, k, v, causal=causal == "causal")
        again = ring(q, k, v, causal=causal == "causal")
    assert torch.equal(first, again), "your code returns a different result when called again"
    return first


def check_ranks(results: Any, length: int, causal: str) -> None:
    """Assemble the ranks' shares; count what they send in two calls."""
    ranks = len(results)
    q, k, v = qkv(length * ranks)
    right = F.scaled_dot_product_attention(q, k, v, is_causal=causal == "causal")
    for rank, (yours, share) in enumerate(zip(results, right.chunk(ranks, -2), strict=True)):
        check(yours, share, f"{causal}, rank {rank} of {ranks}")
    size = (k.nbytes + v.nbytes) // ranks
    # In either direction, but the same for all.
    way = -1 if ranks - 1 in {call.peer for call in results.calls[0] if call.name == "send"} else 1
    for rank in range(ranks):
        used = {call.name for call in results.calls[rank]} - {"send", "recv"}
        assert not used, f"rank {rank}: your code calls {sorted(used)}; expected only send and recv"
        peers = {call.peer for call in results.calls[rank] if call.name == "send"}
        assert peers <= {(rank + way) % ranks}, (
            f"rank {rank}: your code sends to {peers}, which is not a ring"
        )
        bytes_ = results.sent(rank).bytes
        assert bytes_ == 2 * (ranks - 1) * size, (
            f"rank {rank} of {ranks}: your code sends {bytes_ // 2} bytes per call, expected "
            f"{(ranks - 1) * size}: its neighbour needs every share of keys and values except its"
            " own"
        )


def test_two_ranks(world: Any) -> None:
    """Each rank sees the keys of both."""
    check_ranks(world(attended, 2, 3, "full"), 3, "full")


def test_two_causal_ranks(world: Any) -> None:
    """Rank 0 passes on keys that it does not use."""
    check_ranks(world(attended, 2, 3, "causal"), 3, "causal")


def test_four_causal_ranks(world: Any) -> None:
    """Each rank sees part of its own keys, and all keys of lower ranks."""
    check_ranks(world(attended, 4, 2, "causal"), 2, "causal")


def test_three_ranks(world: Any) -> None:
    """A share passes through a rank that did not create it."""
    check_ranks(world(attended, 3, 2, "full"), 2, "full")


def test_one_rank_is_a_ring(world: Any) -> None:
    """A single rank sends nothing."""
    check_ranks(world(attended, 1, 5, "causal"), 5, "causal")
