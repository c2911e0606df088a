"""Tests of k07_masks: pairs by definition, and attention compared with SDPA and step by step."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from katas.lecture24.k07_masks import alibi
from katas.lecture24.k07_masks import causal
from katas.lecture24.k07_masks import document
from katas.lecture24.k07_masks import prefix
from katas.lecture24.k07_masks import shifted
from katas.lecture24.k07_masks import window
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


def numbers(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational float64 values."""
    dice = torch.Generator().manual_seed(seed)
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def attend(mask: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, score: Any = None) -> Any:
    """Return the attention of FlexAttention in eager, without its warning that it is slow."""
    from torch.nn.attention.flex_attention import create_block_mask  # noqa: PLC0415 - seconds
    from torch.nn.attention.flex_attention import flex_attention  # noqa: PLC0415

    blocks = None
    if mask is not None:
        blocks = create_block_mask(
            mask, len(q), q.shape[1], q.shape[2], k.shape[2], device="cpu", BLOCK_SIZE=4
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return flex_attention(q, k, v, score_mod=score, block_mask=blocks)


def pairs(mask: Any, batch: int, length: int) -> list[list[list[bool]]]:
    """Return the answers of a mask, pair by pair, called as FlexAttention calls it: under vmap."""
    __tracebackhide__ = True
    call: Callable[..., torch.Tensor] = mask
    for dims in ((None, None, None, 0), (None, None, 0, None), (0, None, None, None)):
        call = torch.vmap(call, in_dims=dims)
    steps = torch.arange(length)
    try:
        found: list[list[list[bool]]] = call(
            torch.arange(batch), torch.tensor(0), steps, steps
        ).tolist()
    except RuntimeError as error:
        if isinstance(error, NotImplementedError):
            raise
        message = f"your mask cannot be called under vmap: {str(error).splitlines()[0]}"
        raise AssertionError(message) from None
    return found


def compare(yours: list[list[bool]], right: list[list[bool]], what: str) -> None:
    """Compare row by row."""
    __tracebackhide__ = True
    for q, (mine, expected) in enumerate(zip(yours, right, strict=True)):
        seen, wanted = ([k for k, on in enumerate(row) if on] for row in (mine, expected))
        assert seen == wanted, (
            f"{what}: in your mask, query {q} sees keys {seen}, expected {wanted}"
        )


def close(yours: torch.Tensor, right: torch.Tensor, what: str) -> None:
    """Compare to twelve digits."""
    __tracebackhide__ = True
    assert yours.shape == right.shape, (
        f"{what}: your shape is {[*yours.shape]}, expected {[*right.shape]}"
    )
    gap = (yours - right).abs().max().item()
    assert gap < 1e-12, f"{what}: yours differs by {gap:.3g}, expected less than 1e-12"


@pytest.mark.parametrize("size", [1, 3, 8])
def test_window(size: int) -> None:
    """A window of 1 is the token itself."""
    right = [[0 <= q - k < size for k in range(6)] for q in range(6)]
    compare(pairs(window(size), 1, 6)[0], right, f"window({size})")


def test_prefix() -> None:
    """Two samples have prefixes of 3 and 0: a prefix adds to the causal mask."""
    yours = pairs(prefix(torch.tensor([3, 0])), 2, 5)
    for b, length in enumerate((3, 0)):
        right = [[k <= q or k < length for k in range(5)] for q in range(5)]
        compare(yours[b], right, f"prefix of {length}")


def test_document() -> None:
    """Each of two samples has its own documents, and a document number may recur later."""
    ids = torch.tensor([[0, 0, 1, 1, 1, 2], [5, 5, 5, 5, 3, 5]])
    with unchanged(ids=ids):
        yours = pairs(document(ids), 2, 6)
    for b, row in enumerate(ids.tolist()):
        right = [[k <= q and row[q] == row[k] for k in range(6)] for q in range(6)]
        compare(yours[b], right, f"documents {row}")


def test_shifted() -> None:
    """Query 0 of the step is query `offset` of the mask."""
    for offset in (0, 3):
        yours = pairs(shifted(causal, torch.tensor(offset)), 1, 5)[0]
        right = [[k <= q + offset for k in range(5)] for q in range(5)]
        compare(yours, right, f"shifted(causal, {offset})")


def test_an_offset_that_grows() -> None:
    """The mask uses the tensor's value at the time of the call, and `offset` stays a tensor."""
    offset = torch.tensor(1)
    mask = shifted(window(2), offset)
    pairs(mask, 1, 4)
    offset += 1
    right = [[0 <= q + 2 - k < 2 for k in range(4)] for q in range(4)]
    compare(pairs(mask, 1, 4)[0], right, "offset 1, and then 1 more")


def test_alibi() -> None:
    """Each head has its own slope; distance counts on either side."""
    slopes = torch.tensor([0.5, 0.25], dtype=torch.float64)
    score = alibi(slopes)
    for h in range(2):
        for q, k in ((4, 4), (4, 1), (1, 4)):
            yours = score(
                torch.tensor(2.5).double(),
                torch.tensor(0),
                torch.tensor(h),
                torch.tensor(q),
                torch.tensor(k),
            ).item()
            right = 2.5 - slopes[h].item() * abs(q - k)
            assert abs(yours - right) < 1e-12, (
                f"score 2.5, head {h}, query {q}, key {k}: yours {yours}, expected {right}"
            )


@pytest.mark.time_limit(30)
def test_attention_by_alibi_in_a_window() -> None:
    """FlexAttention with your score and your mask equals SDPA with a float mask."""
    q, k, v = (numbers(2, 2, 10, 4, seed=seed) for seed in range(3))
    slopes = torch.tensor([0.7, 0.3], dtype=torch.float64)
    yours = attend(window(3), q, k, v, alibi(slopes))
    steps = torch.arange(10)
    far = steps[:, None] - steps
    bias = torch.where((far >= 0) & (far < 3), -slopes[:, None, None] * far, -torch.inf)
    close(yours, scaled_dot_product_attention(q, k, v, attn_mask=bias), "alibi in a window of 3")


@pytest.mark.time_limit(30)
def test_documents_are_separate_calls() -> None:
    """Three documents in a row of 10 give the same as three calls."""
    q, k, v = (numbers(1, 2, 10, 4, seed=seed) for seed in range(3))
    lengths = [4, 1, 5]
    ids = torch.arange(3).repeat_interleave(torch.tensor(lengths))[None]
    yours = attend(document(ids), q, k, v)
    parts = zip(*(x.split(lengths, 2) for x in (q, k, v)), strict=True)
    right = [scaled_dot_product_attention(a, b, c, is_causal=True) for a, b, c in parts]
    close(yours, torch.cat(right, 2), "documents of 4, 1 and 5 tokens")


@pytest.mark.time_limit(30)
def test_a_decode_step() -> None:
    """One query at a time, with a cache of 6 keys, is the last row of the whole attention."""
    q, k, v = (numbers(1, 1, 6, 4, seed=seed) for seed in range(3))
    whole = scaled_dot_product_attention(q, k, v, is_causal=True)
    for step in (2, 5):
        yours = attend(shifted(causal, torch.tensor(step)), q[:, :, step : step + 1], k, v)
        close(yours, whole[:, :, step : step + 1], f"the step of token {step}")
