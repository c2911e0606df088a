"""Tests of k04_attention: PyTorch's own attention in float64, and gradcheck."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.autograd.gradcheck import GradcheckError
from torch.nn.functional import scaled_dot_product_attention

from katas.lecture23 import k04_attention as kata
from katas.lecture23.conftest import close
from katas.lecture23.conftest import numbers
from katas.lecture23.k04_attention import attend
from plugins.kit import forbids
from plugins.kit import unchanged


def qkv(
    queries: int = 5, keys: int = 7, heads: int = 4, groups: int = 4, values: int = 8
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return q, k and v of a batch of 2, with 8 numbers for each query."""
    q = numbers(2, heads, queries, 8, seed=1)
    return q, numbers(2, groups, keys, 8, seed=2), numbers(2, groups, keys, values, seed=3)


def agrees(
    inputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor], why: str, **options: Any
) -> None:
    """Compare with PyTorch."""
    __tracebackhide__ = True
    yours = attend(*inputs, **options)
    if "mask" in options:
        options["attn_mask"] = options.pop("mask")
    close(yours, scaled_dot_product_attention(*inputs, **options), why)


def test_one_query_and_two_keys() -> None:
    """Scores 0 and log 3 give weights 1/4 and 3/4."""
    q = torch.tensor([[1.0]]).double()
    k = torch.tensor([[1.0], [3.0]]).double().log()
    v = torch.tensor([[8.0, 0.0], [0.0, 4.0]]).double()

    close(attend(q, k, v), [[2.0, 3.0]], "weights 1/4 and 3/4 of [8, 0] and [0, 4]")


def test_the_scale() -> None:
    """The scale uses the size of a query, not of a value, and not the number of keys."""
    agrees(qkv(values=3), "8 numbers for each query, 3 for each value, 7 keys")


def test_a_scale_of_your_own() -> None:
    """A given scale replaces 1 / sqrt(E), even when it is 0."""
    agrees(qkv(), "scale=0.7", scale=0.7)
    agrees(qkv(), "scale=0.0: every key counts the same", scale=0.0)


def test_a_mask_of_bool() -> None:
    """True is where a query may look."""
    agrees(qkv(), "a mask of bool [5, 7]", mask=torch.ones(5, 7, dtype=torch.bool).tril())


def test_a_mask_of_numbers() -> None:
    """A float mask is added to the scores, after they are scaled."""
    agrees(qkv(), "a mask of numbers [5, 7]", mask=numbers(5, 7))
    agrees(qkv(), "and a scale", mask=numbers(5, 7), scale=0.3)


def test_a_mask_is_broadcast() -> None:
    """One mask for each text of the batch, for each head, or for each pair of them."""
    padding = torch.ones(2, 1, 1, 7, dtype=torch.bool)
    padding[1, ..., 4:] = False
    agrees(qkv(), "padding of [2, 1, 1, 7]", mask=padding)
    agrees(qkv(), "a bias for each head [4, 1, 7]", mask=numbers(4, 1, 7))
    agrees(qkv(), "a bias for all [2, 4, 5, 7]", mask=numbers(2, 4, 5, 7))


def test_a_query_that_may_look_nowhere() -> None:
    """Such a query gets 0; other queries are unchanged."""
    mask = torch.ones(5, 7, dtype=torch.bool).tril(-2)
    yours = attend(*qkv(), mask=mask)
    close(
        yours[..., :2, :], torch.zeros(2, 4, 2, 8).double(), "queries 0 and 1 may look nowhere: 0"
    )
    agrees(qkv(), "a mask of bool whose first two rows are False", mask=mask)
    bias = numbers(5, 7).masked_fill(~mask, -torch.inf)
    agrees(qkv(), "a mask of numbers whose first two rows are -inf", mask=bias)


def test_large_scores() -> None:
    """Scores of 3,000, where exp overflows, and of -3,000, which do not mean "nowhere"."""
    q, k, v = qkv()
    agrees((q * 1000, k, v), "queries times 1,000")
    agrees((q, k, v), "a mask of -3,000 in each place", mask=torch.full((5, 7), -3000.0).double())


def test_neighbours_share_a_head() -> None:
    """Of six query heads, 0, 1 and 2 read the first of two key heads."""
    why = "6 heads of queries, 2 of keys: heads 0 to 2 read key head 0"
    agrees(qkv(heads=6, groups=2), why, enable_gqa=True)
    agrees(qkv(heads=6, groups=6), "6 heads of both", enable_gqa=True)
    agrees(qkv(heads=6, groups=1), "and one head of keys", enable_gqa=True, mask=numbers(6, 5, 7))


def test_without_gqa_heads_broadcast() -> None:
    """One key head or one text broadcasts; four heads and two do not."""
    q, k, v = qkv()
    agrees((q, k[:, :1], v[:, :1]), "one head of keys")
    agrees((q, k[:1], v[:1]), "one text of keys")
    with pytest.raises(RuntimeError, match="must match"):
        attend(q, k[:, :2], v[:, :2])


def test_other_numbers_of_dims() -> None:
    """There may be no batch, and no heads."""
    q, k, v = qkv()
    agrees((q[0], k[0], v[0]), "[heads, queries, 8]")
    agrees((q[0, 0], k[0, 0], v[0, 0]), "[queries, 8]", mask=numbers(5, 7))


def test_the_inputs_are_left_alone() -> None:
    """The inputs are not modified, and float32 stays float32."""
    (q, k, v), mask = qkv(), numbers(5, 7)
    hidden = mask > 0
    with unchanged(q=q, k=k, v=v, mask=mask, hidden=hidden):
        attend(q, k, v, mask=mask)
        attend(q, k, v, mask=hidden)
    yours = attend(q.float(), k.float(), v.float(), mask=hidden)

    assert yours.dtype == torch.float32, f"for float32 inputs, your result is {yours.dtype}"
    close(yours.double(), scaled_dot_product_attention(q, k, v, hidden), "in float32", 1e-5)


def test_gradients() -> None:
    """Finite differences agree for q, k, v and a float mask; a fully masked row has gradient 0."""
    inputs = [numbers(3, 2, seed=1), numbers(4, 2, seed=2), numbers(4, 2, seed=3), numbers(3, 4)]
    mask = torch.ones(3, 4, dtype=torch.bool).tril(-1)
    for each in inputs:
        each.requires_grad_()

    def masked(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor) -> Any:
        return attend(q, k, v, mask=bias), attend(q, k, v, mask=mask)

    hidden = torch.zeros(3, 4).double().masked_fill(~mask, -torch.inf)
    weights = numbers(3, 2, seed=4)
    by_bool = torch.autograd.grad(attend(*inputs[:3], mask=mask), inputs[:3], weights)
    by_numbers = torch.autograd.grad(attend(*inputs[:3], mask=hidden), inputs[:3], weights)
    for name, first, second in zip("qkv", by_bool, by_numbers, strict=True):
        for kind, slope in (("False", first), ("-inf", second)):
            assert slope.isfinite().all(), (
                f"query 0 may look nowhere, its mask is all {kind}, and the gradient of {name} is"
                f" {slope.tolist()}: replace the -inf before softmax, not only after"
            )
        close(second, first, f"the gradient of {name}, with -inf and with False")
    try:
        torch.autograd.gradcheck(masked, inputs)
    except GradcheckError as error:
        raise AssertionError("gradcheck says: " + " ".join(str(error).split())) from None


def test_it_is_yours() -> None:
    """None of PyTorch's attention functions computes the result."""
    names = ("torch.nn.functional.scaled_dot_product_attention", "torch.nn.MultiheadAttention")
    with forbids(kata, *names) as fresh:
        yours = fresh.attend(*qkv())
    close(yours, scaled_dot_product_attention(*qkv()), "the value")
