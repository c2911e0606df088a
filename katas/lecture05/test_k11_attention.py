"""Tests of k11_attention: nn.MultiheadAttention has the same weights, inputs and masks."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture05 import k11_attention as kata
from katas.lecture05.k11_attention import Attention
from katas.lecture05.k11_attention import additive
from plugins.kit import forbids
from plugins.kit import unchanged


CLOSE = {"rtol": 1e-10, "atol": 1e-12}


def pair(size: int, heads: int) -> tuple[Attention, nn.MultiheadAttention]:
    """Return yours and PyTorch's with equal weights, in float64."""
    torch.manual_seed(0)
    real = nn.MultiheadAttention(size, heads, batch_first=True).double()
    nn.init.normal_(real.in_proj_bias)
    nn.init.normal_(real.out_proj.bias)
    mine = Attention(size, heads).double()
    mine.load_state_dict(real.state_dict())
    return mine, real


def rows(n: int, t: int, e: int) -> torch.Tensor:
    """Return an input whose elements all differ."""
    return torch.randn(n, t, e, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def compare(size: int, heads: int, x: torch.Tensor, why: str, **masks: torch.Tensor) -> None:
    """Compare the results and all gradients; NaN must be in the same places."""
    mine, real = pair(size, heads)
    results: list[Any] = []
    with unchanged(x, mine, **masks):
        yours = mine(x, **masks)
    for module, y in ((mine, yours), (real, real(x, x, x, **masks)[0])):
        grads = torch.autograd.grad(y.square().sum(), [*module.parameters()])
        names = [name for name, _ in module.named_parameters()]
        results.append((y, dict(zip(names, grads, strict=True))))
    (yours, mine_grads), (theirs, real_grads) = results
    assert yours.shape == theirs.shape, f"your shape is {yours.shape}, PyTorch's {theirs.shape}"
    says = f"{why}: yours is not PyTorch's\n".__add__
    torch.testing.assert_close(yours, theirs, **CLOSE, equal_nan=True, msg=says)
    for name, grad in real_grads.items():
        says = f"{why}: the gradient by {name}: yours is not PyTorch's\n".__add__
        torch.testing.assert_close(mine_grads[name], grad, **CLOSE, equal_nan=True, msg=says)


def future(t: int) -> torch.Tensor:
    """Return the mask that forbids later positions."""
    return torch.ones(t, t, dtype=torch.bool).triu(1)


def padding(n: int, t: int) -> torch.Tensor:
    """Return the mask that forbids the last keys, more of them in later rows."""
    return torch.arange(t) >= t - torch.arange(n)[:, None]


def test_a_mask_of_bools_is_one_of_floats() -> None:
    """True is -inf, False is 0, in the dtype of the scores; a float mask is used as it is."""
    mask = torch.tensor([True, False])
    with unchanged(mask):
        yours = additive(mask, torch.float64)
    says = "for [True, False]: yours is not [-inf, 0] in float64\n".__add__
    expected = torch.tensor([-torch.inf, 0], dtype=torch.float64)
    torch.testing.assert_close(yours, expected, msg=says)
    floats = torch.tensor([-1.5, 0.0])
    for dtype in (torch.float32, torch.float64):
        assert additive(floats, dtype) is floats, (
            f"a float mask, {dtype}: additive returned a different mask, expected the same object"
        )


def test_one_position() -> None:
    """A single position sees only itself: two projections of the values."""
    compare(2, 1, rows(1, 1, 2), "one position")


def test_one_head() -> None:
    """Scores are divided by the square root of the head size."""
    compare(4, 1, rows(2, 3, 4), "one head")


@pytest.mark.parametrize("heads", [2, 3, 6])
def test_heads_see_their_own_features(heads: int) -> None:
    """Each head has a part of the features, and the parts are joined in order."""
    compare(6, heads, rows(2, 5, 6), f"{heads} heads")


def test_no_look_into_the_future() -> None:
    """Rows of the mask are queries, columns are keys; a later call has its own mask."""
    compare(6, 2, rows(2, 4, 6), "a causal mask of bools", attn_mask=future(4))
    mine, real = pair(6, 2)
    x = rows(2, 4, 6)
    for call, mask in (("first", future(4)), ("second", future(4).t()), ("third", None)):
        says = f"{call} call: yours is not PyTorch's\n".__add__
        theirs = real(x, x, x, attn_mask=mask)[0]
        torch.testing.assert_close(mine(x, mask), theirs, **CLOSE, msg=says)


def test_a_mask_of_floats_is_added() -> None:
    """A float mask is added to the scaled scores; -inf forbids."""
    mask = torch.arange(16, dtype=torch.float64).view(4, 4).sqrt()
    compare(6, 2, rows(2, 4, 6), "a mask of floats", attn_mask=mask)
    mask[1, 2] = -torch.inf
    compare(6, 2, rows(2, 4, 6), "a mask with -inf", attn_mask=mask)


def test_padding_is_forbidden_to_all() -> None:
    """Each batch element has its own keys that no query may see; floats are added."""
    compare(6, 3, rows(4, 4, 6), "padding", key_padding_mask=padding(4, 4))
    mask = torch.arange(16, dtype=torch.float64).view(4, 4).sqrt()
    compare(6, 3, rows(4, 4, 6), "padding of floats", key_padding_mask=mask)


def test_padding_and_future() -> None:
    """A key that either mask forbids is forbidden."""
    masks = {"attn_mask": future(5), "key_padding_mask": padding(3, 5)}

    compare(6, 2, rows(3, 5, 6), "both masks", **masks)


def test_a_row_without_keys_is_nan() -> None:
    """A row without keys is NaN; the other rows are not."""
    mask = future(4)
    mask[2] = True

    compare(6, 2, rows(2, 4, 6), "the third row may see nothing", attn_mask=mask)
    compare(6, 2, rows(5, 4, 6), "the fifth element is padding", key_padding_mask=padding(5, 4))


def test_the_weights_go_back() -> None:
    """Your weights load into PyTorch's module."""
    mine, real = Attention(6, 2), nn.MultiheadAttention(6, 2, batch_first=True)
    result = real.load_state_dict(mine.state_dict())
    x = rows(2, 3, 6).float()

    assert not result.missing_keys, result
    says = "with your weights: yours is not PyTorch's\n".__add__
    torch.testing.assert_close(mine(x), real(x, x, x)[0], msg=says)


def test_it_is_your_own() -> None:
    """Torch functions that do the entire computation must not run."""
    with forbids(
        kata,
        *("torch.nn.functional", "torch.nn.MultiheadAttention", "torch.nn.attention"),
        operators=("aten::scaled_dot_product", "aten::_scaled_dot_product", "aten::_native_multi"),
    ) as fresh:
        fresh.Attention(6, 2)(rows(2, 3, 6).float(), future(3), padding(2, 3))


def test_gradients_of_a_masked_row() -> None:
    """Finite differences agree with the input's gradient, past a mask and through the softmax."""
    mine, _ = pair(4, 2)
    for each in mine.parameters():
        each.detach_()
    x = rows(2, 3, 4).requires_grad_()

    assert torch.autograd.gradcheck(lambda x: mine(x, attn_mask=future(3)), (x,)), (
        "your gradients differ from finite differences"
    )
